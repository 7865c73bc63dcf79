// SPDX-License-Identifier: GPL-3.0-or-later
// Rules that turn one real instruction into normalised ones: rows common to several versions, and a file for each version
// with its own, of which exactly one is compiled in.
#pragma once
#include <vector>

#include "core/bytecode/code.h"

/// The version whose bytecode is decoded, major and minor in a byte each: the one compiled for. A test of a version that
/// is prepared only gives its number and opcodes itself.
#ifndef BREAKLINE_OPCODES
#define BREAKLINE_OPCODES (PY_VERSION_HEX >> 16)
#include <opcode.h>
#endif

namespace breakline::bytecode {

/// What a rule sees of the instruction it translates, and where it puts the result.
struct Emitter {
  Code& code;
  PyCodeObject* real;
  int offset = 0;  ///< byte offset of the instruction (past its EXTENDED_ARGs)
  int arg = 0;     ///< oparg with EXTENDED_ARGs folded in
  int after =
      0;  ///< byte offset behind the instruction and its inline caches: what relative jumps count from
  PyObject* keyword_names = nullptr;  ///< names of the coming call (KW_NAMES), borrowed

  void emit(Op op, int operand = 0, PyObject* object = nullptr);
  void emit_name(Op op, int name_index, int operand = 0);
  void emit_const(int index);
  /// Jump to a byte offset; resolved to an index when the whole code is decoded.
  void emit_jump(Op op, int target_offset, int operand = 0);
  PyObject* name(int index) const { return PyTuple_GET_ITEM(real->co_names, index); }
  PyObject* constant(int index) const { return PyTuple_GET_ITEM(real->co_consts, index); }
};

using Rule = void (*)(Emitter&);

struct RuleRow {
  int opcode;
  Rule rule;
};

/// What only the version compiled for has.
const std::vector<RuleRow>& version_rows();

/// The rule of an opcode, or null.
Rule find_rule(int opcode);

namespace rules {

inline void drop(Emitter&) {}
/// Exists inside CPython's interpreter only; never in what PyCode_GetCode gives.
inline void internal(Emitter&) {}
template <Op op>
void plain(Emitter& e) {
  e.emit(op);
}
template <Op op>
void with_arg(Emitter& e) {
  e.emit(op, e.arg);
}
template <Op op>
void with_name(Emitter& e) {
  e.emit_name(op, e.arg);
}
template <Op op>
void forward(Emitter& e) {
  e.emit_jump(op, e.after + 2 * e.arg);
}
template <Op op>
void backward(Emitter& e) {
  e.emit_jump(op, e.after - 2 * e.arg, 1);
}
inline void load_const(Emitter& e) { e.emit_const(e.arg); }
/// The two slots of a call are NULL, callable or callable, self in normalised code, as 3.11 and 3.12 have it; since 3.13
/// the callable is always the lower one.
inline void load_global(Emitter& e) {
  if (e.arg & 1) e.emit(Op::kPushNull);
  e.emit_name(Op::kLoadGlobal, e.arg >> 1);
}
/// LOAD_FAST since 3.13, where it also loads cells.
inline void load_slot(Emitter& e, int slot) {
  e.emit(is_cell_slot(e.real, slot) ? Op::kLoadClosure : Op::kLoadFast, slot);
}
inline void keyword_names(Emitter& e) { e.keyword_names = e.constant(e.arg); }
inline void call(Emitter& e) {
  e.emit(Op::kCall, e.arg, e.keyword_names);
  e.keyword_names = nullptr;
}
inline void load_attr_or_method(Emitter& e) {
  e.emit_name(e.arg & 1 ? Op::kLoadMethod : Op::kLoadAttr, e.arg >> 1);
}
inline void load_super_attr(Emitter& e) { e.emit_name(Op::kLoadSuperAttr, e.arg >> 2, e.arg & 3); }
inline void load_fast_and_clear(Emitter& e) {
  e.emit(Op::kLoadFastOrNull, e.arg);
  e.emit(Op::kClearFast, e.arg);
}
inline void binary_slice(Emitter& e) {
  e.emit(Op::kBuildSlice, 2);
  e.emit(Op::kBinarySubscr);
}
inline void store_slice(Emitter& e) {
  e.emit(Op::kBuildSlice, 2);
  e.emit(Op::kStoreSubscr);
}
inline void return_const(Emitter& e) {
  e.emit_const(e.arg);
  e.emit(Op::kReturnValue);
}
/// CALL_INTRINSIC_1 and _2 of 3.12+: those with an op of their own, the rest as TypeParam (two-operand ones +
/// 256).
void intrinsic_1(Emitter& e);
void intrinsic_2(Emitter& e);

}  // namespace rules
}  // namespace breakline::bytecode
