// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>

#include "core/python/ref.h"

namespace breakline::torch {

/// Python functions that traced code calls in place of torch._C._InferenceMode's methods, so that a region can be entered in one
/// segment and left in another. `enter(mode)` returns the region's number, counted from the outermost of this thread; `leave(number)`
/// ends it. Borrowed, made once. GIL.
PyObject* inference_enter();
PyObject* inference_leave();
/// How many such regions this thread is in.
int16_t inference_depth();
/// Enters or leaves regions of this thread until there are `depth`, the innermost with `mode`. GIL.
void set_inference_depth(int16_t depth, bool mode);

}  // namespace breakline::torch
