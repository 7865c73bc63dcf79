// SPDX-License-Identifier: GPL-3.0-or-later
// Marks that users put on tensors (torch._dynamo.mark_dynamic and its kin): attributes that say which sizes are
// to stay open, and within which bounds.
#pragma once
#include <Python.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace breakline::guard {

/// Bounds of one marked size, inclusive; a missing one is open.
struct MarkedRange {
  int dim = 0;
  std::optional<int64_t> least, most;
  bool bounded() const { return least || most; }
  bool holds(int64_t size) const { return (!least || size >= *least) && (!most || size <= *most); }
};

/// Whether any tensor was marked in this process: guards look for marks from then on.
bool marks_in_use();
void note_marks();
/// While it lives guards don't look at marks: for a segment whose marks are yet to be looked at.
struct MarksPaused {
  MarksPaused();
  ~MarksPaused();
  MarksPaused(const MarksPaused&) = delete;
  bool was;
};

/// Dimensions of `tensor` that mark_dynamic was called for, as bits (the first 64). No error is left set.
uint64_t marked_dims(PyObject* tensor);
/// The bounds those marks gave.
std::vector<MarkedRange> marked_ranges(PyObject* tensor);
/// Sets the bits of the dimensions below `rank` that the set in the attribute `name` of the tensor has.
uint64_t dims_in(PyObject* tensor, const char* name);

/// Whether a segment made with the dimensions `known` marked may serve `tensor`: it has no other marks, and
/// its sizes are within the bounds of its own. Cheap while nothing is marked.
bool marks_allow(PyObject* tensor, uint64_t known);

}  // namespace breakline::guard
