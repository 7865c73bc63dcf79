// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/guard/marks.h"

#include "core/python/ref.h"
#include "core/torch/tensor.h"

namespace breakline::guard {

namespace {

bool in_use = false;

PyObject* mark_of(PyObject* tensor, const char* name) {
  PyObject** place = _PyObject_GetDictPtr(tensor);
  if (!place || !*place) return nullptr;
  PyObject* found = PyDict_GetItemString(*place, name);
  return found && PyAnySet_Check(found) ? found : nullptr;
}

std::optional<int64_t> bound(PyObject* range, const char* name) {
  py::Ref value = py::Ref::steal(PyObject_GetAttrString(range, name));
  if (!value || !PyLong_Check(value.get())) {
    PyErr_Clear();
    return {};
  }
  int overflow = 0;
  const int64_t number = PyLong_AsLongLongAndOverflow(value.get(), &overflow);
  return overflow ? std::nullopt : std::optional<int64_t>(number);
}

}  // namespace

bool marks_in_use() { return in_use; }
void note_marks() { in_use = true; }
MarksPaused::MarksPaused() : was(in_use) { in_use = false; }
MarksPaused::~MarksPaused() { in_use = was || in_use; }

uint64_t dims_in(PyObject* tensor, const char* name) {
  PyObject* set = mark_of(tensor, name);
  if (!set || !PySet_GET_SIZE(set)) return 0;
  uint64_t bits = 0;
  const int rank = static_cast<int>(torch::raw_meta(tensor).rank);
  for (int d = 0; d < rank && d < 64; ++d) {
    py::Ref number = py::Ref::steal(PyLong_FromLong(d));
    if (number && PySet_Contains(set, number.get()) == 1) bits |= uint64_t{1} << d;
  }
  PyErr_Clear();
  return bits;
}

uint64_t marked_dims(PyObject* tensor) { return dims_in(tensor, "_dynamo_dynamic_indices"); }

std::vector<MarkedRange> marked_ranges(PyObject* tensor) {
  std::vector<MarkedRange> found;
  PyObject* set = mark_of(tensor, "_dynamo_dynamic_range");
  py::Ref items = set ? py::Ref::steal(PySequence_List(set)) : py::Ref();
  for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items.get()); ++i) {
    PyObject* range = PyList_GET_ITEM(items.get(), i);
    const std::optional<int64_t> dim = bound(range, "dim");
    MarkedRange r{static_cast<int>(dim.value_or(-1)), bound(range, "min"), bound(range, "max")};
    if (dim && r.dim >= 0 && r.bounded()) found.push_back(r);
  }
  PyErr_Clear();
  return found;
}

bool marks_allow(PyObject* tensor, uint64_t known) {
  if (!in_use) return true;
  const uint64_t marked = marked_dims(tensor);
  if (marked & ~known) return false;
  if (!marked) return true;
  const torch::RawMeta m = torch::raw_meta(tensor);
  for (const MarkedRange& r : marked_ranges(tensor))
    if (r.dim < static_cast<int>(m.rank) && !r.holds(m.sizes[r.dim])) return false;
  return true;
}

}  // namespace breakline::guard
