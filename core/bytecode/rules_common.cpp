// SPDX-License-Identifier: GPL-3.0-or-later
// The rows that several versions have in common; what only one of them has is in its own file.
#include <array>

#include "core/bytecode/rules.h"

namespace breakline::bytecode {
namespace {

using namespace rules;

#if BREAKLINE_OPCODES >= 0x030D
void compare_or_truth(Emitter& e) { e.emit(Op::kCompareOp, (e.arg >> 5) | (e.arg & 16 ? 256 : 0)); }

// The iterator is gone when the loop ends, so the jump passes over END_FOR and the instruction that drops it.
void for_iter_of_two(Emitter& e) { e.emit_jump(Op::kForIter, e.after + 2 * (e.arg + 2)); }

// What may be unbound is loaded by LOAD_FAST_CHECK.
void load_fast_or_cell(Emitter& e) { load_slot(e, e.arg); }
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

// Real code has callable, NULL; normalised code NULL, callable (see load_global).
void null_below(Emitter& e) {
  e.emit(Op::kPushNull);
  e.emit(Op::kSwap, 2);
}

// The compiler puts the names' LOAD_CONST right before; it becomes part of the call.
void call_keywords(Emitter& e) {
  PyObject* names = e.code.instrs.empty() ? nullptr : e.code.instrs.back().object;
  if (!names || e.code.instrs.back().op != Op::kLoadConst || !PyTuple_Check(names)) {
    e.emit(Op::kCall, e.arg);
    return;
  }
  e.code.instrs.pop_back();
  e.emit(Op::kCall, e.arg, names);
}

void format_simple(Emitter& e) { e.emit(Op::kFormatValue, 0); }
void format_with_spec(Emitter& e) { e.emit(Op::kFormatValue, 4); }
#endif

const std::vector<RuleRow>& common_rows() {
  static const std::vector<RuleRow> rows = {
    {CACHE, drop},
    {EXTENDED_ARG, drop},
    {RESUME, drop},
    {NOP, plain<Op::kNop>},
    {POP_TOP, plain<Op::kPopTop>},
    {UNARY_NEGATIVE, plain<Op::kUnaryNegative>},
    {UNARY_NOT, plain<Op::kUnaryNot>},
    {UNARY_INVERT, plain<Op::kUnaryInvert>},
    {STORE_SUBSCR, plain<Op::kStoreSubscr>},
    {DELETE_SUBSCR, plain<Op::kDeleteSubscr>},
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
    {GET_AITER, plain<Op::kGetAiter>},
    {GET_ANEXT, plain<Op::kGetAnext>},
    {GET_AWAITABLE, with_arg<Op::kGetAwaitable>},
    {END_ASYNC_FOR, plain<Op::kEndAsyncFor>},
    {GET_ITER, plain<Op::kGetIter>},
    {GET_YIELD_FROM_ITER, plain<Op::kGetYieldFromIter>},
    {SEND, forward<Op::kSend>},
    {YIELD_VALUE, plain<Op::kYieldValue>},
    {RETURN_GENERATOR, plain<Op::kReturnGenerator>},
    {RETURN_VALUE, plain<Op::kReturnValue>},
    {LOAD_BUILD_CLASS, plain<Op::kLoadBuildClass>},
    {IMPORT_NAME, with_name<Op::kImportName>},
    {IMPORT_FROM, with_name<Op::kImportFrom>},
    {SETUP_ANNOTATIONS, plain<Op::kSetupAnnotations>},
    {LOAD_CONST, load_const},
    {LOAD_NAME, with_name<Op::kLoadName>},
    {STORE_NAME, with_name<Op::kStoreName>},
    {DELETE_NAME, with_name<Op::kDeleteName>},
    {LOAD_GLOBAL, load_global},
    {STORE_GLOBAL, with_name<Op::kStoreGlobal>},
    {DELETE_GLOBAL, with_name<Op::kDeleteGlobal>},
    {STORE_ATTR, with_name<Op::kStoreAttr>},
    {DELETE_ATTR, with_name<Op::kDeleteAttr>},
    {STORE_FAST, with_arg<Op::kStoreFast>},
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
    {BUILD_SLICE, with_arg<Op::kBuildSlice>},
    {BUILD_STRING, with_arg<Op::kBuildString>},
    {LIST_APPEND, with_arg<Op::kListAppend>},
    {SET_ADD, with_arg<Op::kSetAdd>},
    {MAP_ADD, with_arg<Op::kMapAdd>},
    {LIST_EXTEND, with_arg<Op::kListExtend>},
    {SET_UPDATE, with_arg<Op::kSetUpdate>},
    {DICT_UPDATE, with_arg<Op::kDictUpdate>},
    {DICT_MERGE, with_arg<Op::kDictMerge>},
    {CALL, call},
    {JUMP_FORWARD, forward<Op::kJump>},
    {JUMP_BACKWARD, backward<Op::kJump>},
    {JUMP_BACKWARD_NO_INTERRUPT, backward<Op::kJump>},
#if BREAKLINE_OPCODES >= 0x030C
    {INTERPRETER_EXIT, internal},
    {RESERVED, internal},
    {END_SEND, plain<Op::kEndSend>},
    {BINARY_SLICE, binary_slice},
    {STORE_SLICE, store_slice},
    {CLEANUP_THROW, plain<Op::kCleanupThrow>},
    {CALL_INTRINSIC_1, intrinsic_1},
    {CALL_INTRINSIC_2, intrinsic_2},
    {LOAD_LOCALS, plain<Op::kLoadLocals>},
    {LOAD_FROM_DICT_OR_GLOBALS, with_name<Op::kLoadFromDictOrGlobals>},
    {LOAD_FROM_DICT_OR_DEREF, with_arg<Op::kLoadClassDeref>},
    {LOAD_ATTR, load_attr_or_method},
    {LOAD_SUPER_ATTR, load_super_attr},
    {LOAD_FAST_AND_CLEAR, load_fast_and_clear},
    {LOAD_FAST_CHECK, with_arg<Op::kLoadFast>},
    {POP_JUMP_IF_FALSE, forward<Op::kPopJumpIfFalse>},
    {POP_JUMP_IF_TRUE, forward<Op::kPopJumpIfTrue>},
    {POP_JUMP_IF_NONE, forward<Op::kPopJumpIfNone>},
    {POP_JUMP_IF_NOT_NONE, forward<Op::kPopJumpIfNotNone>},
#endif
#if BREAKLINE_OPCODES < 0x030D
    {FORMAT_VALUE, with_arg<Op::kFormatValue>},
    {KW_NAMES, keyword_names},
    {LOAD_CLOSURE, with_arg<Op::kLoadClosure>},
    {LOAD_FAST, with_arg<Op::kLoadFast>},
    {MAKE_FUNCTION, with_arg<Op::kMakeFunction>},
    {PUSH_NULL, plain<Op::kPushNull>},
#else
    {CALL_KW, call_keywords},
    {COMPARE_OP, compare_or_truth},
    {CONVERT_VALUE, with_arg<Op::kConvertValue>},
    {END_FOR, plain<Op::kPopTop>},
    {ENTER_EXECUTOR, internal},
    {EXIT_INIT_CHECK, internal},
    {FOR_ITER, for_iter_of_two},
    {FORMAT_SIMPLE, format_simple},
    {FORMAT_WITH_SPEC, format_with_spec},
    {LOAD_FAST, load_fast_or_cell},
    {LOAD_FAST_LOAD_FAST, load_fast_load_fast},
    {MAKE_FUNCTION, plain<Op::kMakeFunction>},
    {PUSH_NULL, null_below},
    {SET_FUNCTION_ATTRIBUTE, with_arg<Op::kSetFunctionAttribute>},
    {STORE_FAST_LOAD_FAST, store_fast_load_fast},
    {STORE_FAST_STORE_FAST, store_fast_store_fast},
    {TO_BOOL, plain<Op::kToBool>},
#endif
#if BREAKLINE_OPCODES < 0x030E
    {BINARY_OP, with_arg<Op::kBinaryOp>},
    {CALL_FUNCTION_EX, with_arg<Op::kCallEx>},
    {WITH_EXCEPT_START, plain<Op::kWithExceptStart>},
    {BINARY_SUBSCR, plain<Op::kBinarySubscr>},
    {BEFORE_WITH, plain<Op::kBeforeWith>},
    {BEFORE_ASYNC_WITH, plain<Op::kBeforeAsyncWith>},
    {LOAD_ASSERTION_ERROR, plain<Op::kLoadAssertionError>},
    {BUILD_CONST_KEY_MAP, with_arg<Op::kBuildConstKeyMap>},
#endif
  };
  return rows;
}

}  // namespace

Rule find_rule(int opcode) {
  static const std::array<Rule, 256> table = [] {
    std::array<Rule, 256> t{};
    for (const auto* rows : {&common_rows(), &version_rows()})
      for (const RuleRow& row : *rows) t[static_cast<size_t>(row.opcode)] = row.rule;
    return t;
  }();
  return opcode >= 0 && opcode < 256 ? table[static_cast<size_t>(opcode)] : nullptr;
}

}  // namespace breakline::bytecode
