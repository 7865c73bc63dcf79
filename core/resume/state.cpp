// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/resume/state.h"

#include <utility>

namespace breakline::resume {

State::State(State&& other) noexcept { *this = std::move(other); }

State& State::operator=(State&& other) noexcept {
  std::swap(frames, other.frames);
  std::swap(slots, other.slots);
  std::swap(handled, other.handled);
  std::swap(kept, other.kept);
  std::swap(kept_frames, other.kept_frames);
  return *this;
}

State::~State() { clear(); }

void State::clear() {
  // Innermost first, as returning frames would; a destructor may run user code, so the slot is taken out
  // before.
  while (!slots.empty()) {
    PyObject* object = slots.back();
    slots.pop_back();
    Py_XDECREF(object);
  }
  frames.clear();
  Py_CLEAR(handled);
  kept.clear();
  kept_frames.clear();
}

void State::drop(int count) {
  for (; count > 0; --count) Py_XDECREF(pop());
}

}  // namespace breakline::resume
