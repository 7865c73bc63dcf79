// SPDX-License-Identifier: GPL-3.0-or-later
// What only CPython 3.14 has: prepared from its documentation, not yet run.
#include <iterator>

#include "core/bytecode/rules.h"

#if BREAKLINE_OPCODES == 0x030E

namespace breakline::bytecode {
namespace {

using namespace rules;

// Borrowed loads differ in who owns the reference only.
void load_borrowed(Emitter& e) { load_slot(e, e.arg); }
void load_borrowed_two(Emitter& e) {
  load_slot(e, e.arg >> 4);
  load_slot(e, e.arg & 15);
}

// Small integers are immortal.
void load_small_int(Emitter& e) { e.emit(Op::kLoadConst, 0, PyLong_FromLong(e.arg)); }

void load_common_constant(Emitter& e) {
  static PyObject* const builtins = PyEval_GetBuiltins();
  constexpr const char* kNames[] = {"AssertionError", "NotImplementedError", "tuple", "all", "any"};
  if (e.arg == 0 || e.arg >= static_cast<int>(std::size(kNames))) return e.emit(Op::kLoadAssertionError);
  e.emit(Op::kLoadConst, 0, PyDict_GetItemString(builtins, kNames[e.arg]));
}

void load_special(Emitter& e) {
  constexpr const char* kNames[] = {"__enter__", "__exit__", "__aenter__", "__aexit__"};
  e.emit(Op::kLoadSpecial, 0, py::intern(kNames[e.arg & 3]));
}

void binary_op(Emitter& e) {
  constexpr int kSubscript = 26;
  if (e.arg == kSubscript) return e.emit(Op::kBinarySubscr);
  e.emit(Op::kBinaryOp, e.arg);
}

// The place of the ** mapping is always there, and NULL where there is none.
void call_ex(Emitter& e) { e.emit(Op::kCallEx, 1); }

// The two slots of __exit__ lie where earlier versions have the one bound method.
void with_except_start(Emitter& e) { e.emit(Op::kWithExceptStart, 1); }

}  // namespace

const std::vector<RuleRow>& version_rows() {
  static const std::vector<RuleRow> rows = {
      {BINARY_OP, binary_op},
      {BUILD_INTERPOLATION, with_arg<Op::kBuildInterpolation>},
      {BUILD_TEMPLATE, plain<Op::kBuildTemplate>},
      {CALL_FUNCTION_EX, call_ex},
      {LOAD_COMMON_CONSTANT, load_common_constant},
      {LOAD_FAST_BORROW, load_borrowed},
      {LOAD_FAST_BORROW_LOAD_FAST_BORROW, load_borrowed_two},
      {LOAD_SMALL_INT, load_small_int},
      {LOAD_SPECIAL, load_special},
      {NOT_TAKEN, drop},
      {POP_ITER, plain<Op::kPopTop>},
      {WITH_EXCEPT_START, with_except_start},
  };
  return rows;
}

}  // namespace breakline::bytecode
#endif
