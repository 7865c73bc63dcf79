// SPDX-License-Identifier: GPL-3.0-or-later
// CPython 3.13.
#include "core/bytecode/rules.h"

#if PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030E0000
#include <opcode.h>

namespace breakline::bytecode {
namespace {

using namespace rules;

void compare(Emitter& e) { e.emit(Op::kCompareOp, (e.arg >> 5) | (e.arg & 16 ? 256 : 0)); }

// The iterator is gone when the loop ends, so the jump passes over END_FOR and POP_TOP.
void for_iter(Emitter& e) { e.emit_jump(Op::kForIter, e.after + 2 * (e.arg + 2)); }

// LOAD_CLOSURE is spelled LOAD_FAST since 3.13.
void load_slot(Emitter& e, int slot) {
  e.emit(is_cell_slot(e.real, slot) ? Op::kLoadClosure : Op::kLoadFast, slot);
}
void load_fast(Emitter& e) { load_slot(e, e.arg); }
void load_fast_load_fast(Emitter& e) {
  load_slot(e, e.arg >> 4);
  load_slot(e, e.arg & 15);
}
void store_fast_load_fast(Emitter& e) {
  e.emit(Op::kStoreFast, e.arg >> 4);
  load_slot(e, e.arg & 15);
}
void store_fast_store_fast(Emitter& e) {
  e.emit(Op::kStoreFast, e.arg >> 4);
  e.emit(Op::kStoreFast, e.arg & 15);
}

// The compiler puts the names' LOAD_CONST right before; it becomes part of the call.
void call_keywords(Emitter& e) {
  Instr& names = e.code.instrs.back();
  PyObject* tuple = names.op == Op::kLoadConst ? names.object : nullptr;
  if (!tuple || !PyTuple_Check(tuple)) {
    e.emit(Op::kCall, e.arg, nullptr);
    return;
  }
  e.code.instrs.pop_back();
  e.emit(Op::kCall, e.arg, tuple);
}

void format_simple(Emitter& e) { e.emit(Op::kFormatValue, 0); }
void format_with_spec(Emitter& e) { e.emit(Op::kFormatValue, 4); }

}  // namespace

const std::vector<RuleRow>& rule_rows() {
  static const std::vector<RuleRow> rows = {
      {CACHE, drop},
      {EXTENDED_ARG, drop},
      {RESUME, drop},
      {INTERPRETER_EXIT, internal},
      {RESERVED, internal},
      {ENTER_EXECUTOR, internal},
      {EXIT_INIT_CHECK, internal},
      {NOP, plain<Op::kNop>},
      {POP_TOP, plain<Op::kPopTop>},
      {PUSH_NULL, plain<Op::kPushNull>},
      {END_FOR, plain<Op::kPopTop>},
      {END_SEND, plain<Op::kEndSend>},
      {UNARY_NEGATIVE, plain<Op::kUnaryNegative>},
      {UNARY_NOT, plain<Op::kUnaryNot>},
      {UNARY_INVERT, plain<Op::kUnaryInvert>},
      {TO_BOOL, plain<Op::kToBool>},
      {BINARY_OP, with_arg<Op::kBinaryOp>},
      {BINARY_SUBSCR, plain<Op::kBinarySubscr>},
      {BINARY_SLICE, binary_slice},
      {STORE_SLICE, store_slice},
      {STORE_SUBSCR, plain<Op::kStoreSubscr>},
      {DELETE_SUBSCR, plain<Op::kDeleteSubscr>},
      {COMPARE_OP, compare},
      {IS_OP, with_arg<Op::kIsOp>},
      {CONTAINS_OP, with_arg<Op::kContainsOp>},
      {GET_LEN, plain<Op::kGetLen>},
      {MATCH_MAPPING, plain<Op::kMatchMapping>},
      {MATCH_SEQUENCE, plain<Op::kMatchSequence>},
      {MATCH_KEYS, plain<Op::kMatchKeys>},
      {MATCH_CLASS, with_arg<Op::kMatchClass>},
      {PUSH_EXC_INFO, plain<Op::kPushExcInfo>},
      {CHECK_EXC_MATCH, plain<Op::kCheckExcMatch>},
      {CHECK_EG_MATCH, plain<Op::kCheckEgMatch>},
      {POP_EXCEPT, plain<Op::kPopExcept>},
      {RERAISE, with_arg<Op::kReraise>},
      {RAISE_VARARGS, with_arg<Op::kRaiseVarargs>},
      {WITH_EXCEPT_START, plain<Op::kWithExceptStart>},
      {BEFORE_WITH, plain<Op::kBeforeWith>},
      {BEFORE_ASYNC_WITH, plain<Op::kBeforeAsyncWith>},
      {GET_AITER, plain<Op::kGetAiter>},
      {GET_ANEXT, plain<Op::kGetAnext>},
      {GET_AWAITABLE, with_arg<Op::kGetAwaitable>},
      {END_ASYNC_FOR, plain<Op::kEndAsyncFor>},
      {CLEANUP_THROW, plain<Op::kCleanupThrow>},
      {GET_ITER, plain<Op::kGetIter>},
      {GET_YIELD_FROM_ITER, plain<Op::kGetYieldFromIter>},
      {FOR_ITER, for_iter},
      {SEND, forward<Op::kSend>},
      {YIELD_VALUE, plain<Op::kYieldValue>},
      {RETURN_GENERATOR, plain<Op::kReturnGenerator>},
      {RETURN_VALUE, plain<Op::kReturnValue>},
      {RETURN_CONST, return_const},
      {LOAD_BUILD_CLASS, plain<Op::kLoadBuildClass>},
      {LOAD_ASSERTION_ERROR, plain<Op::kLoadAssertionError>},
      {IMPORT_NAME, with_name<Op::kImportName>},
      {IMPORT_FROM, with_name<Op::kImportFrom>},
      {SETUP_ANNOTATIONS, plain<Op::kSetupAnnotations>},
      {CALL_INTRINSIC_1, intrinsic_1},
      {CALL_INTRINSIC_2, intrinsic_2},
      {LOAD_CONST, load_const},
      {LOAD_NAME, with_name<Op::kLoadName>},
      {STORE_NAME, with_name<Op::kStoreName>},
      {DELETE_NAME, with_name<Op::kDeleteName>},
      {LOAD_LOCALS, plain<Op::kLoadLocals>},
      {LOAD_FROM_DICT_OR_GLOBALS, with_name<Op::kLoadFromDictOrGlobals>},
      {LOAD_FROM_DICT_OR_DEREF, with_arg<Op::kLoadClassDeref>},
      {LOAD_GLOBAL, load_global},
      {STORE_GLOBAL, with_name<Op::kStoreGlobal>},
      {DELETE_GLOBAL, with_name<Op::kDeleteGlobal>},
      {LOAD_ATTR, load_attr_or_method},
      {LOAD_SUPER_ATTR, load_super_attr},
      {STORE_ATTR, with_name<Op::kStoreAttr>},
      {DELETE_ATTR, with_name<Op::kDeleteAttr>},
      {LOAD_FAST, load_fast},
      {LOAD_FAST_CHECK, load_fast},
      {LOAD_FAST_LOAD_FAST, load_fast_load_fast},
      {LOAD_FAST_AND_CLEAR, load_fast_and_clear},
      {STORE_FAST, with_arg<Op::kStoreFast>},
      {STORE_FAST_LOAD_FAST, store_fast_load_fast},
      {STORE_FAST_STORE_FAST, store_fast_store_fast},
      {DELETE_FAST, with_arg<Op::kDeleteFast>},
      {MAKE_CELL, with_arg<Op::kMakeCell>},
      {LOAD_DEREF, with_arg<Op::kLoadDeref>},
      {STORE_DEREF, with_arg<Op::kStoreDeref>},
      {DELETE_DEREF, with_arg<Op::kDeleteDeref>},
      {COPY_FREE_VARS, with_arg<Op::kCopyFreeVars>},
      {UNPACK_SEQUENCE, with_arg<Op::kUnpackSequence>},
      {UNPACK_EX, with_arg<Op::kUnpackEx>},
      {SWAP, with_arg<Op::kSwap>},
      {COPY, with_arg<Op::kCopy>},
      {BUILD_TUPLE, with_arg<Op::kBuildTuple>},
      {BUILD_LIST, with_arg<Op::kBuildList>},
      {BUILD_SET, with_arg<Op::kBuildSet>},
      {BUILD_MAP, with_arg<Op::kBuildMap>},
      {BUILD_CONST_KEY_MAP, with_arg<Op::kBuildConstKeyMap>},
      {BUILD_SLICE, with_arg<Op::kBuildSlice>},
      {BUILD_STRING, with_arg<Op::kBuildString>},
      {CONVERT_VALUE, with_arg<Op::kConvertValue>},
      {FORMAT_SIMPLE, format_simple},
      {FORMAT_WITH_SPEC, format_with_spec},
      {LIST_APPEND, with_arg<Op::kListAppend>},
      {SET_ADD, with_arg<Op::kSetAdd>},
      {MAP_ADD, with_arg<Op::kMapAdd>},
      {LIST_EXTEND, with_arg<Op::kListExtend>},
      {SET_UPDATE, with_arg<Op::kSetUpdate>},
      {DICT_UPDATE, with_arg<Op::kDictUpdate>},
      {DICT_MERGE, with_arg<Op::kDictMerge>},
      {MAKE_FUNCTION, plain<Op::kMakeFunction>},
      {SET_FUNCTION_ATTRIBUTE, with_arg<Op::kSetFunctionAttribute>},
      {CALL, call},
      {CALL_KW, call_keywords},
      {CALL_FUNCTION_EX, with_arg<Op::kCallEx>},
      {JUMP_FORWARD, forward<Op::kJump>},
      {JUMP_BACKWARD, backward<Op::kJump>},
      {JUMP_BACKWARD_NO_INTERRUPT, backward<Op::kJump>},
      {POP_JUMP_IF_FALSE, forward<Op::kPopJumpIfFalse>},
      {POP_JUMP_IF_TRUE, forward<Op::kPopJumpIfTrue>},
      {POP_JUMP_IF_NONE, forward<Op::kPopJumpIfNone>},
      {POP_JUMP_IF_NOT_NONE, forward<Op::kPopJumpIfNotNone>},
  };
  return rows;
}

}  // namespace breakline::bytecode
#endif
