// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/bytecode/code.h"

namespace breakline::resume {

/// What happens to a virtual frame's return value.
enum class OnReturn : uint8_t {
  kPush,     ///< pushed on the caller's stack (an ordinary call)
  kDiscard,  ///< dropped: the caller's stack already holds the result (an inlined __init__, after its None
             ///< check)
};

/// One virtual frame of a continuation. Its values live in State::slots: first code->slot_count locals, then
/// `stack` operands.
struct Frame {
  const bytecode::Code* code = nullptr;
  PyObject* function =
      nullptr;  ///< borrowed from `owner`-kept objects, may be null for frames without a function object
  PyObject* globals = nullptr;  ///< borrowed (kept alive by the function or the site)
  PyObject* builtins = nullptr;
  PyObject* locals = nullptr;  ///< mapping of a class body / module frame; null for optimised frames
  int pc = 0;                  ///< index of the next instruction
  int stack = 0;               ///< operands on its stack
  OnReturn on_return = OnReturn::kPush;
  py::Ref owner;  ///< keeps the function alive while the frame lives; may be empty when State::kept does
  py::Ref
      snapshot;  ///< the dict that locals() gives in a function (3.11 and 3.12 hand out the same one again)
};

/// A frame object of a virtual frame that the program holds on to (kept_frames.h).
struct KeptFrame {
  py::Ref object;
  size_t frame = 0;               ///< index of the virtual frame
  std::vector<PyObject*> shown;   ///< the values its variables have in it, by slot; it keeps them alive
};

/// The concrete state of all frames of one root, outermost first. Owns the slots (null = unbound local or
/// NULL operand).
struct State {
  std::vector<Frame> frames;
  std::vector<PyObject*> slots;  ///< all frames' values, in frame order
  PyObject* handled = nullptr;   ///< exception being handled (what sys.exception() gives), owned, or null
  std::vector<py::Ref> kept;     ///< functions, globals and the like that frames borrow
  std::vector<KeptFrame> kept_frames;  ///< while there are any, instructions are executed, not traced

  State() = default;
  State(State&&) noexcept;
  State& operator=(State&&) noexcept;
  State(const State&) = delete;
  ~State();
  void clear();

  Frame& top() { return frames.back(); }
  PyObject*& operand(int from_top) { return slots[slots.size() - from_top]; }  ///< 1 = TOS of the top frame
  PyObject*& local(int slot) { return slots[slots.size() - top().stack - top().code->slot_count + slot]; }
  void push(PyObject* owned) {
    slots.push_back(owned);
    ++top().stack;
  }
  PyObject* pop() {
    PyObject* o = slots.back();
    slots.pop_back();
    --top().stack;
    return o;
  }
  void drop(int count);
};

}  // namespace breakline::resume
