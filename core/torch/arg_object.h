// SPDX-License-Identifier: GPL-3.0-or-later
// Between graph operands and Python objects.
#pragma once
#include <functional>

#include "core/graph/graph.h"
#include "core/python/ref.h"

namespace breakline::torch {

/// True when a value sits in `arg` at any depth.
bool holds_value(const graph::Arg& arg);
/// Calls `visit(id)` for each value in `arg`, in order.
template <class Visit>
void visit_values(const graph::Arg& arg, Visit&& visit) {
  if (arg.is_value()) visit(arg.id());
  if (const graph::ArgSeq* seq = arg.seq())
    for (const graph::Arg& item : seq->items) visit_values(item, visit);
}

/// New reference: the constant that `arg` stands for (its `object` when it has one). Null + error when it
/// holds a value for which `make_value` (may be empty) gives null.
PyObject* object_of(const graph::Arg& arg, const std::function<PyObject*(graph::ValueId)>& make_value);

/// The plain form of a Python constant: None, bool, int, float, str, dtype, slice, and tuples and lists of
/// them; anything else becomes Opaque. Exact types only (an int subclass is Opaque; torch.Size counts as a
/// tuple). `tensor_id` is asked for each tensor met and names its value. `object` of the result is borrowed
/// from `constant` (null where values are inside).
graph::Arg arg_of(PyObject* constant, const std::function<graph::ValueId(PyObject*)>& tensor_id);

}  // namespace breakline::torch
