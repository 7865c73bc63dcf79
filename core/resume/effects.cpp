// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/resume/effects.h"

#include <algorithm>

namespace breakline::resume {

using trace::Effect;

void EffectProgram::build(trace::Tracer& tracer, RecipeBuilder& builder) {
  for (const Effect& e : tracer.effects()) {
    EffectStep s;
    s.kind = e.kind;
    s.target = builder.emit(e.target);
    s.key = builder.emit(e.key);
    s.value = builder.emit(e.value);
    s.name = e.name;
    if (e.kind == Effect::kListReplace) s.restructured = e.target->number > 0;
    if (e.kind == Effect::kListReplace || e.kind == Effect::kListAppend)
      s.items = builder.emit_all(e.target->items);
    if (e.kind == Effect::kCellSet) s.value = builder.emit(e.target->items[0]);
    if (e.kind == Effect::kSetOperations) s.history = e.target->history;
    steps_.push_back(std::move(s));
  }
}

void EffectProgram::split(const Recipe& recipe) {
  auto needs_late = [&](const EffectStep& s) {
    return recipe.is_late(s.target) || recipe.is_late(s.key) || recipe.is_late(s.value) ||
           std::any_of(s.items.begin(), s.items.end(), [&](int32_t i) { return recipe.is_late(i); });
  };
  late_from_ = static_cast<size_t>(std::find_if(steps_.begin(), steps_.end(), needs_late) - steps_.begin());
}

bool EffectProgram::apply(size_t from, size_t to, const std::vector<PyObject*>& made) const {
  auto at = [&](int32_t i) { return i >= 0 ? made[static_cast<size_t>(i)] : nullptr; };
  for (size_t n = from; n < to; ++n) {
    const EffectStep& s = steps_[n];
    PyObject* target = at(s.target);
    switch (s.kind) {
      case Effect::kDictSet:
        // Not through a subclass's own methods: those were traced.
        if (PyODict_Check(target) ? PyODict_SetItem(target, at(s.key), at(s.value)) < 0
                                  : PyDict_SetItem(target, at(s.key), at(s.value)) < 0)
          return false;
        break;
      case Effect::kDictDelete:
        if (PyODict_Check(target) ? PyODict_DelItem(target, at(s.key)) < 0 : PyDict_DelItem(target, at(s.key)) < 0) return false;
        break;
      case Effect::kListReplace: {
        py::Ref list = py::Ref::steal(PyList_New(static_cast<Py_ssize_t>(s.items.size())));
        if (!list) return false;
        for (size_t i = 0; i < s.items.size(); ++i) {
          PyObject* o = at(s.items[i]);
          Py_INCREF(o);
          PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), o);
        }
        if (!PyList_Check(target) && !s.restructured && PyObject_Size(target) == PyList_GET_SIZE(list.get())) {
          // A deque of the same length: iterators over it go on.
          for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i)
            if (PySequence_SetItem(target, i, PyList_GET_ITEM(list.get(), i)) < 0) return false;
          break;
        }
        if (!PyList_Check(target)) {  // a deque
          py::Ref gone = py::Ref::steal(PyObject_CallMethod(target, "clear", nullptr));
          py::Ref put = gone ? py::Ref::steal(PyObject_CallMethod(target, "extend", "(O)", list.get())) : py::Ref();
          if (!put) return false;
          break;
        }
        if (PyList_SetSlice(target, 0, PyList_GET_SIZE(target), list.get()) < 0) return false;
        break;
      }
      case Effect::kListAppend:
        for (int32_t i : s.items) {
          if (PyList_Check(target)) {
            if (PyList_Append(target, at(i)) < 0) return false;
            continue;
          }
          py::Ref put = py::Ref::steal(PyObject_CallMethod(target, "append", "(O)", at(i)));
          if (!put) return false;
        }
        break;
      case Effect::kCellSet:
        if (PyCell_Set(target, at(s.value)) < 0) return false;
        break;
      case Effect::kAttributeSet:
        if (PyObject_GenericSetAttr(target, s.name, at(s.value)) < 0) return false;
        break;
      case Effect::kClassAttribute:
        if (PyObject_SetAttr(target, s.name, at(s.value)) < 0) return false;
        break;
      case Effect::kAttributeDelete:
        if (PyObject_GenericSetAttr(target, s.name, nullptr) < 0) return false;
        break;
      case Effect::kSetOperations:
        for (const trace::SetOperation& op : s.history) {
          py::Ref set = py::Ref::borrow(target);
          if (!trace::apply_set_operation(set, op)) return false;
        }
        break;
      case Effect::kMoveToEnd: {
        // Not by a subclass's own method.
        static PyObject* const move =
            PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyODict_Type), "move_to_end");
        py::Ref r =
            py::Ref::steal(PyObject_CallFunctionObjArgs(move, target, at(s.key), at(s.value), nullptr));
        if (!r) return false;
        break;
      }
    }
  }
  return true;
}

void EffectProgram::swap_first_two() {
  if (steps_.size() >= 2) std::swap(steps_[0], steps_[1]);
}

}  // namespace breakline::resume
