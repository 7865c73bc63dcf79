// SPDX-License-Identifier: GPL-3.0-or-later
// Frame objects that the program holds on to. A real one has returned by then, so its variables are written
// into it from outside.
#include "core/resume/kept_frames.h"

#include <frameobject.h>  // not part of Python.h before 3.12

namespace breakline::resume {
namespace {

using bytecode::Code;

size_t first_slot(const State& state, size_t frame) {
  size_t base = 0;
  for (size_t k = 0; k < frame; ++k)
    base += static_cast<size_t>(state.frames[k].code->slot_count + state.frames[k].stack);
  return base;
}

py::Ref mapping_of(PyObject* frame) { return py::Ref::steal(PyObject_GetAttrString(frame, "f_locals")); }

#if PY_VERSION_HEX >= 0x030D0000

/// What the program wrote through the frame's `f_locals` since `shown`.
bool adopt_changes(State& state, size_t frame, PyObject* mapping, const std::vector<PyObject*>& shown) {
  const Code* code = state.frames[frame].code;
  const size_t base = first_slot(state, frame);
  for (size_t slot = 0; slot < shown.size(); ++slot) {
    py::Ref now = py::Ref::steal(PyObject_GetItem(mapping, code->slot_name(static_cast<int>(slot))));
    if (!now) PyErr_Clear();
    if (!now || now.get() == shown[slot]) continue;
    PyObject*& variable = state.slots[base + slot];
    if (variable && PyCell_Check(variable) && bytecode::is_cell_slot(code->code, static_cast<int>(slot))) {
      if (PyCell_Set(variable, now.get()) < 0) return false;
    } else {
      Py_XSETREF(variable, now.release());
    }
  }
  return true;
}

bool show(PyObject* frame, const Code* code, const std::vector<PyObject*>& shown,
          const std::vector<PyObject*>& values) {
  bool unbound = false;
  for (size_t slot = 0; slot < values.size(); ++slot) unbound = unbound || (shown[slot] && !values[slot]);
  if (unbound) {  // the mapping deletes none
    py::Ref cleared = py::Ref::steal(PyObject_CallMethod(frame, "clear", nullptr));
    if (!cleared) return false;
  }
  py::Ref mapping = mapping_of(frame);
  if (!mapping) return false;
  for (size_t slot = 0; slot < values.size(); ++slot)
    if (values[slot] && (unbound || values[slot] != shown[slot]) &&
        PyObject_SetItem(mapping.get(), code->slot_name(static_cast<int>(slot)), values[slot]) < 0)
      return false;
  return true;
}

#else

bool show(PyObject* frame, const Code* code, const std::vector<PyObject*>&,
          const std::vector<PyObject*>& values) {
  // The one dict of the frame shows older values until the program asks for it again.
  py::Ref mapping = mapping_of(frame);
  py::Ref older = mapping ? py::Ref::steal(PyDict_Copy(mapping.get())) : py::Ref();
  if (!older) return false;
  bool unbound = false;
  for (size_t slot = 0; slot < values.size(); ++slot) {
    PyObject* name = code->slot_name(static_cast<int>(slot));
    const bool goes = !values[slot] && PyDict_Contains(mapping.get(), name) == 1;
    if ((values[slot] && PyDict_SetItem(mapping.get(), name, values[slot]) < 0) ||
        (goes && PyDict_DelItem(mapping.get(), name) < 0))
      return false;
    unbound = unbound || goes;
  }
  if (unbound) {  // 3.12 would give a variable None instead, with a warning
    py::Ref cleared = py::Ref::steal(PyObject_CallMethod(frame, "clear", nullptr));
    if (!cleared) return false;
  }
  PyFrame_LocalsToFast(reinterpret_cast<PyFrameObject*>(frame), 0);
  PyDict_Clear(mapping.get());
  return !PyErr_Occurred() && PyDict_Update(mapping.get(), older.get()) == 0;
}

#endif

}  // namespace

std::vector<PyObject*> variables_of(const State& state, size_t frame) {
  const Code* code = state.frames[frame].code;
  const size_t base = first_slot(state, frame);
  std::vector<PyObject*> values;
  for (int slot = 0; code->is_optimized && slot < code->slot_count; ++slot) {
    PyObject* value = state.slots[base + static_cast<size_t>(slot)];
    if (value && PyCell_Check(value) && bytecode::is_cell_slot(code->code, slot)) value = PyCell_GET(value);
    values.push_back(value);
  }
  return values;
}

bool keep_frame(State& state, size_t frame, py::Ref object, std::vector<PyObject*> shown) {
#if PY_VERSION_HEX >= 0x030D0000
  py::Ref mapping = mapping_of(object.get());
  if (!mapping || !adopt_changes(state, frame, mapping.get(), shown)) return false;
  mapping = py::Ref();
#endif
  if (Py_REFCNT(object.get()) == 1) return true;
  state.kept_frames.push_back({std::move(object), frame, std::move(shown)});
  return true;
}

bool refresh_kept_frames(State& state) {
  auto& kept = state.kept_frames;
  std::erase_if(kept, [&](const KeptFrame& k) {
    return k.frame >= state.frames.size() || Py_REFCNT(k.object.get()) == 1;
  });
#if PY_VERSION_HEX >= 0x030D0000
  for (const KeptFrame& k : kept) {
    py::Ref mapping = mapping_of(k.object.get());
    if (!mapping || !adopt_changes(state, k.frame, mapping.get(), k.shown)) return false;
  }
#endif
  for (KeptFrame& k : kept) {
    std::vector<PyObject*> now = variables_of(state, k.frame);
    if (now == k.shown) continue;
    if (!show(k.object.get(), state.frames[k.frame].code, k.shown, now)) return false;
    k.shown = std::move(now);
  }
  return true;
}

}  // namespace breakline::resume
