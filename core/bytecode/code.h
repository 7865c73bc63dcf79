// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/python/ref.h"

namespace breakline::bytecode {

/// The normalised instruction set. `arg`, `object` and `target` as noted; TOS = top of stack.
/// X(name, note)
#define BREAKLINE_OPS(X)                                                                                  \
  X(Nop, "")                                                                                              \
  X(PopTop, "")                                                                                           \
  X(PushNull, "")                                                                                         \
  X(LoadConst, "object")                                                                                  \
  X(LoadFast, "arg = slot; unbound raises UnboundLocalError")                                             \
  X(LoadFastOrNull, "arg = slot; pushes NULL when unbound (3.12 comprehension save)")                     \
  X(ClearFast, "arg = slot; unbinds, no error")                                                           \
  X(StoreFast, "arg = slot; a NULL on the stack unbinds")                                                 \
  X(DeleteFast, "arg = slot")                                                                             \
  X(MakeCell, "arg = slot")                                                                               \
  X(LoadClosure, "arg = slot: the cell itself")                                                           \
  X(LoadDeref, "arg = slot")                                                                              \
  X(StoreDeref, "arg = slot")                                                                             \
  X(DeleteDeref, "arg = slot")                                                                            \
  X(CopyFreeVars, "arg = count")                                                                          \
  X(LoadClassDeref, "arg = slot (locals dict, then cell); 3.12+: mapping from TOS")                       \
  X(LoadGlobal, "object = name")                                                                          \
  X(StoreGlobal, "object = name")                                                                         \
  X(DeleteGlobal, "object = name")                                                                        \
  X(LoadName, "object = name")                                                                            \
  X(StoreName, "object = name")                                                                           \
  X(DeleteName, "object = name")                                                                          \
  X(LoadLocals, "")                                                                                       \
  X(LoadFromDictOrGlobals, "object = name")                                                               \
  X(LoadAttr, "object = name")                                                                            \
  X(LoadMethod, "object = name; pushes the two call slots")                                               \
  X(LoadSuperAttr,                                                                                        \
    "object = name; arg bit 0: method form, bit 1: written with two arguments; stack super, class, self") \
  X(StoreAttr, "object = name; stack value, owner")                                                       \
  X(DeleteAttr, "object = name")                                                                          \
  X(Call, "arg = argument count without the two call slots; object = keyword names or null")              \
  X(CallEx, "arg bit 0: has ** mapping")                                                                  \
  X(ReturnValue, "")                                                                                      \
  X(YieldValue, "")                                                                                       \
  X(ReturnGenerator, "")                                                                                  \
  X(Send, "target = jump when exhausted")                                                                 \
  X(EndSend, "")                                                                                          \
  X(GetYieldFromIter, "")                                                                                 \
  X(GetAwaitable, "arg")                                                                                  \
  X(GetAiter, "")                                                                                         \
  X(GetAnext, "")                                                                                         \
  X(EndAsyncFor, "")                                                                                      \
  X(AsyncGenWrap, "")                                                                                     \
  X(CleanupThrow, "")                                                                                     \
  X(BinaryOp, "arg = NB_* number incl. in-place forms")                                                   \
  X(CompareOp, "arg = Py_LT …; bit 8: result converted to bool")                                          \
  X(IsOp, "arg = invert")                                                                                 \
  X(ContainsOp, "arg = invert")                                                                           \
  X(UnaryNot, "")                                                                                         \
  X(UnaryNegative, "")                                                                                    \
  X(UnaryInvert, "")                                                                                      \
  X(UnaryPositive, "")                                                                                    \
  X(ToBool, "")                                                                                           \
  X(BinarySubscr, "")                                                                                     \
  X(StoreSubscr, "stack value, container, key")                                                           \
  X(DeleteSubscr, "")                                                                                     \
  X(BuildTuple, "arg")                                                                                    \
  X(BuildList, "arg")                                                                                     \
  X(BuildSet, "arg")                                                                                      \
  X(BuildMap, "arg pairs")                                                                                \
  X(BuildConstKeyMap, "arg; keys tuple on TOS")                                                           \
  X(BuildSlice, "arg 2 or 3")                                                                             \
  X(BuildString, "arg")                                                                                   \
  X(BuildInterpolation, "arg of the original; 3.14")                                                      \
  X(BuildTemplate, "3.14")                                                                                \
  X(ListAppend, "arg = depth")                                                                            \
  X(SetAdd, "arg = depth")                                                                                \
  X(MapAdd, "arg = depth")                                                                                \
  X(ListExtend, "arg = depth")                                                                            \
  X(SetUpdate, "arg = depth")                                                                             \
  X(DictUpdate, "arg = depth")                                                                            \
  X(DictMerge, "arg = depth")                                                                             \
  X(ListToTuple, "")                                                                                      \
  X(UnpackSequence, "arg")                                                                                \
  X(UnpackEx, "arg = before | after << 8")                                                                \
  X(Jump, "target; arg 1 = backward")                                                                     \
  X(PopJumpIfFalse, "target")                                                                             \
  X(PopJumpIfTrue, "target")                                                                              \
  X(PopJumpIfNone, "target")                                                                              \
  X(PopJumpIfNotNone, "target")                                                                           \
  X(JumpIfFalseOrPop, "target")                                                                           \
  X(JumpIfTrueOrPop, "target")                                                                            \
  X(GetIter, "")                                                                                          \
  X(ForIter, "target = where to go when exhausted, the iterator already popped")                          \
  X(GetLen, "")                                                                                           \
  X(Swap, "arg")                                                                                          \
  X(Copy, "arg")                                                                                          \
  X(MakeFunction, "arg flags 1 defaults 2 kwdefaults 4 annotations 8 closure")                            \
  X(SetFunctionAttribute, "arg flag; 3.13")                                                               \
  X(LoadBuildClass, "")                                                                                   \
  X(LoadAssertionError, "")                                                                               \
  X(FormatValue, "arg: bits 0-1 conversion (1 str 2 repr 3 ascii), bit 2 has spec")                       \
  X(ConvertValue, "arg 1 str 2 repr 3 ascii; 3.13")                                                       \
  X(BeforeWith, "")                                                                                       \
  X(BeforeAsyncWith, "")                                                                                  \
  X(LoadSpecial, "object = name; pushes the two call slots; 3.14")                                        \
  X(WithExceptStart, "arg 1: __exit__ is two call slots (3.14)")                                                                                  \
  X(PushExcInfo, "")                                                                                      \
  X(PopExcept, "")                                                                                        \
  X(CheckExcMatch, "")                                                                                    \
  X(CheckEgMatch, "")                                                                                     \
  X(PrepReraiseStar, "")                                                                                  \
  X(RaiseVarargs, "arg")                                                                                  \
  X(Reraise, "arg: oparg of the original")                                                                \
  X(ImportName, "object = name")                                                                          \
  X(ImportFrom, "object = name")                                                                          \
  X(ImportStar, "")                                                                                       \
  X(PrintExpr, "")                                                                                        \
  X(SetupAnnotations, "")                                                                                 \
  X(MatchClass, "arg = positional count; names tuple on TOS")                                             \
  X(MatchMapping, "")                                                                                     \
  X(MatchSequence, "")                                                                                    \
  X(MatchKeys, "")                                                                                        \
  X(StopIterationError, "generator epilogue of 3.12+, which no exception reaches")                                                    \
  X(TypeParam,                                                                                            \
    "arg = intrinsic number, + 256 for those with two operands; type-parameter intrinsics of 3.12+")

enum class Op : uint8_t {
#define X(name, note) k##name,
  BREAKLINE_OPS(X)
#undef X
      kCount
};
const char* op_name(Op op);

/// One normalised instruction. `offset` is the byte offset of the real instruction it came from: the `lasti`
/// of tracebacks and the key of positions. Several instructions may share it (fused loads of 3.13).
struct Instr {
  Op op;
  int32_t arg = 0;
  int32_t target = -1;  ///< instruction index
  int32_t offset = 0;
  PyObject* object = nullptr;  ///< borrowed from the code object
};

struct ExceptionEntry {
  int32_t start, end;  ///< instruction indices, end exclusive
  int32_t target;
  int32_t depth;
  bool push_lasti;
  /// Index of the Reraise that ends a handler which does nothing but put locals back (comprehensions of 3.12+), else -1.
  int32_t passes_on = -1;
};

struct Position {
  int line = 0, column = -1, end_line = 0, end_column = -1;
};

/// A decoded code object; cached for the life of the process, keyed by code object (which it keeps alive).
struct Code {
  PyCodeObject* code = nullptr;
  std::vector<Instr> instrs;
  std::vector<ExceptionEntry> exceptions;
  int slot_count = 0;  ///< locals plus cells plus free variables
  int arg_slots = 0;   ///< positional + keyword-only + * + **
  bool is_generator = false, is_coroutine = false, is_async_generator = false, has_varargs = false,
       has_varkw = false;
  bool is_optimized = true;  ///< fast locals (not a class body or module)
  std::string file, name, qualname;
  int first_line = 0;

  Position position(int index) const;              ///< exact source range of an instruction
  const ExceptionEntry* handler(int index) const;  ///< innermost entry that covers it, or null
  bool catches(int index) const;  ///< true when an exception raised there meets a handler that may keep it
  PyObject* slot_name(int slot) const;             ///< borrowed
  bool is_free_slot(int slot) const;
};

/// True when a slot is a variable of an inlined comprehension in a class body or module (3.12+).
bool is_hidden_slot(PyCodeObject* code, int slot);

/// True when a slot of `code` holds a cell: a variable shared with inner functions, or a free variable.
bool is_cell_slot(PyCodeObject* code, int slot);

/// Decodes (or finds) `code`. GIL. Throws py::PythonError only on out-of-memory; an opcode without a rule
/// gives an instruction that the build's table test would have rejected.
const Code* decode(PyCodeObject* code);

/// Where callable and self sit for a Call with `arg` arguments: index from the top of the stack (1 = TOS) of
/// each slot. The stack is NULL, callable or callable, self, then the arguments.
struct CallSlots {
  int callable;
  int self;  ///< 0 when there is none
};
inline CallSlots call_slots(int argc, bool first_is_null) {
  return first_is_null ? CallSlots{argc + 1, 0} : CallSlots{argc + 2, argc + 1};
}

}  // namespace breakline::bytecode
