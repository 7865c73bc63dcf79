// SPDX-License-Identifier: GPL-3.0-or-later
// Containers, unpacking and strings.
#include <opcode.h>

#include "core/resume/ops.h"
#include "core/resume/trampoline.h"

namespace breakline::resume {
namespace {

PyObject* const* deepest(State& s, int count) { return s.slots.data() + s.slots.size() - count; }

// Moves the top operands into a new tuple or list.
template <PyObject* (*make)(Py_ssize_t), void (*set)(PyObject*, Py_ssize_t, PyObject*)>
Outcome build_sequence(State& s, const Instr& i) {
  PyObject* result = make(i.arg);
  if (!result) return Outcome::kRaised;
  for (int k = i.arg; k-- > 0;) set(result, k, s.pop());
  s.push(result);
  return Outcome::kNext;
}
void set_tuple(PyObject* tuple, Py_ssize_t index, PyObject* item) { PyTuple_SET_ITEM(tuple, index, item); }
void set_list(PyObject* list, Py_ssize_t index, PyObject* item) { PyList_SET_ITEM(list, index, item); }

Outcome build_set(State& s, const Instr& i) {
  py::Ref set = py::Ref::steal(PySet_New(nullptr));
  PyObject* const* items = deepest(s, i.arg);
  for (int k = 0; set && k < i.arg; ++k)
    if (PySet_Add(set.get(), items[k]) < 0) return Outcome::kRaised;
  return replace(s, i.arg, set.release());
}

Outcome build_map(State& s, const Instr& i) {
  py::Ref map = py::Ref::steal(PyDict_New());
  PyObject* const* items = deepest(s, 2 * i.arg);
  for (int k = 0; map && k < i.arg; ++k)
    if (PyDict_SetItem(map.get(), items[2 * k], items[2 * k + 1]) < 0) return Outcome::kRaised;
  return replace(s, 2 * i.arg, map.release());
}

Outcome build_const_key_map(State& s, const Instr& i) {
  PyObject* keys = s.operand(1);
  py::Ref map = py::Ref::steal(PyDict_New());
  PyObject* const* values = deepest(s, i.arg + 1);
  for (int k = 0; map && k < i.arg; ++k)
    if (PyDict_SetItem(map.get(), PyTuple_GET_ITEM(keys, k), values[k]) < 0) return Outcome::kRaised;
  return replace(s, i.arg + 1, map.release());
}

Outcome build_slice(State& s, const Instr& i) {
  PyObject* const* parts = deepest(s, i.arg);
  return replace(s, i.arg, PySlice_New(parts[0], parts[1], i.arg == 3 ? parts[2] : nullptr));
}

Outcome build_string(State& s, const Instr& i) {
  PyObject* const* parts = deepest(s, i.arg);
  py::Ref tuple = py::Ref::steal(PyTuple_New(i.arg));
  if (!tuple) return Outcome::kRaised;
  for (int k = 0; k < i.arg; ++k) PyTuple_SET_ITEM(tuple.get(), k, Py_NewRef(parts[k]));
  static PyObject* empty = PyUnicode_InternFromString("");
  return replace(s, i.arg, PyUnicode_Join(empty, tuple.get()));
}

PyObject* convert(PyObject* value, int how) {
  switch (how) {
    case 1:
      return PyObject_Str(value);
    case 2:
      return PyObject_Repr(value);
    case 3:
      return PyObject_ASCII(value);
    default:
      return Py_NewRef(value);
  }
}

Outcome format_value(State& s, const Instr& i) {
  const int inputs = i.arg & 4 ? 2 : 1;
  PyObject* spec = i.arg & 4 ? s.operand(1) : nullptr;
  py::Ref value = py::Ref::steal(convert(s.operand(inputs), i.arg & 3));
  if (!value) return Outcome::kRaised;
  if (PyUnicode_CheckExact(value.get()) && !spec) return replace(s, inputs, value.release());
  return replace(s, inputs, PyObject_Format(value.get(), spec));
}

Outcome convert_value(State& s, const Instr& i) { return replace(s, 1, convert(s.operand(1), i.arg)); }

Outcome list_append(State& s, const Instr& i) {
  return drop_if(s, 1, PyList_Append(s.operand(i.arg + 1), s.operand(1)) == 0);
}
Outcome set_add(State& s, const Instr& i) {
  return drop_if(s, 1, PySet_Add(s.operand(i.arg + 1), s.operand(1)) == 0);
}
Outcome map_add(State& s, const Instr& i) {
  return drop_if(s, 2, PyDict_SetItem(s.operand(i.arg + 2), s.operand(2), s.operand(1)) == 0);
}

bool call_method(PyObject* owner, const char* name, PyObject* argument) {
  PyObject* const args[] = {owner, argument};
  py::Ref result = py::Ref::steal(PyObject_VectorcallMethod(py::intern(name), args, 2, nullptr));
  return static_cast<bool>(result);
}

Outcome list_extend(State& s, const Instr& i) {
  PyObject* iterable = s.operand(1);
  const bool good = call_method(s.operand(i.arg + 1), "extend", iterable);
  if (!good && PyErr_ExceptionMatches(PyExc_TypeError) && !Py_TYPE(iterable)->tp_iter &&
      !PySequence_Check(iterable)) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "Value after * must be an iterable, not %.200s",
                 Py_TYPE(iterable)->tp_name);
  }
  return drop_if(s, 1, good);
}

Outcome set_update(State& s, const Instr& i) {
  return drop_if(s, 1, call_method(s.operand(i.arg + 1), "update", s.operand(1)));
}

Outcome dict_update(State& s, const Instr& i) {
  PyObject* update = s.operand(1);
  const bool good = PyDict_Update(s.operand(i.arg + 1), update) == 0;
  if (!good && PyErr_ExceptionMatches(PyExc_AttributeError))
    PyErr_Format(PyExc_TypeError, "'%.200s' object is not a mapping", Py_TYPE(update)->tp_name);
  return drop_if(s, 1, good);
}

// Adds exact dicts with str keys that are all new. False: nothing was done.
bool merge_plain(PyObject* into, PyObject* update) {
  if (!PyDict_CheckExact(update)) return false;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(update, &at, &key, &value);)
    if (!PyUnicode_CheckExact(key) || PyDict_Contains(into, key) != 0) return false;
  for (Py_ssize_t at = 0; PyDict_Next(update, &at, &key, &value);)
    if (PyDict_SetItem(into, key, value) < 0) return false;
  return true;
}

// Stack: callable, arguments, mapping, … update. The callable is in the messages only; the real instruction
// of 3.13 looks for it one place lower.
Outcome dict_merge(State& s, const Instr& i) {
  PyObject* into = s.operand(i.arg + 1);
  PyObject* update = s.operand(1);
  if (merge_plain(into, update)) return drop_if(s, 1, true);
#if PY_VERSION_HEX < 0x030D0000
  PyObject* const inputs[] = {s.operand(i.arg + 3), s.operand(i.arg + 2), into, update};
#else
  PyObject* const inputs[] = {s.operand(i.arg + 3), Py_None, s.operand(i.arg + 2), into, update};
#endif
  const int count = sizeof inputs / sizeof *inputs;
  py::Ref merged =
      py::Ref::steal(run_native(s, {.opcode = DICT_MERGE, .arg = 1, .inputs = count, .outputs = 1}, inputs));
  return drop_if(s, 1, static_cast<bool>(merged));
}

Outcome list_to_tuple(State& s, const Instr&) { return replace(s, 1, PyList_AsTuple(s.operand(1))); }

// Replaces the top operand by the items of a tuple, the first item deepest.
Outcome spread(State& s, PyObject* tuple) {
  if (!tuple) return Outcome::kRaised;
  s.drop(1);
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(tuple); ++k) s.push(Py_NewRef(PyTuple_GET_ITEM(tuple, k)));
  Py_DECREF(tuple);
  return Outcome::kNext;
}

Outcome unpack_sequence(State& s, const Instr& i) {
  PyObject* sequence = s.operand(1);
  const bool direct = PyTuple_CheckExact(sequence) || PyList_CheckExact(sequence);
  if (direct && Py_SIZE(sequence) == i.arg) {
    py::Ref kept = py::Ref::steal(s.pop());
    PyObject* const* items = PySequence_Fast_ITEMS(sequence);
    for (int k = i.arg; k-- > 0;) s.push(Py_NewRef(items[k]));
    return Outcome::kNext;
  }
  PyObject* const inputs[] = {sequence};
  return spread(s, run_native(s,
                              {.opcode = UNPACK_SEQUENCE,
                               .arg = i.arg,
                               .inputs = 1,
                               .outputs = i.arg,
                               .as_tuple = true,
                               .caches = 1},
                              inputs));
}

Outcome unpack_ex(State& s, const Instr& i) {
  PyObject* const inputs[] = {s.operand(1)};
  const int outputs = (i.arg & 255) + 1 + (i.arg >> 8);
  return spread(
      s, run_native(s, {.opcode = UNPACK_EX, .arg = i.arg, .inputs = 1, .outputs = outputs, .as_tuple = true},
                    inputs));
}

bool loud_top(State& s, const Instr&) { return !is_builtin_data(s.operand(1)); }
bool loud_format(State& s, const Instr& i) { return !is_scalar(s.operand(i.arg & 4 ? 2 : 1)); }
bool loud_convert(State& s, const Instr&) { return !is_scalar(s.operand(1)); }
bool loud_hash(State& s, const Instr&) { return !is_scalar(s.operand(1)); }
bool loud_map_add(State& s, const Instr&) { return !is_scalar(s.operand(2)); }
bool loud_set(State& s, const Instr& i) {
  PyObject* const* items = deepest(s, i.arg);
  for (int k = 0; k < i.arg; ++k)
    if (!is_scalar(items[k])) return true;
  return false;
}
bool loud_map(State& s, const Instr& i) {
  PyObject* const* items = deepest(s, 2 * i.arg);
  for (int k = 0; k < i.arg; ++k)
    if (!is_scalar(items[2 * k])) return true;
  return false;
}

}  // namespace

void add_build_ops(OpTable& t) {
  row(t, Op::kBuildTuple) = {build_sequence<PyTuple_New, set_tuple>};
  row(t, Op::kBuildList) = {build_sequence<PyList_New, set_list>};
  row(t, Op::kBuildSet) = {build_set, loud_set};
  row(t, Op::kBuildMap) = {build_map, loud_map};
  row(t, Op::kBuildConstKeyMap) = {build_const_key_map};
  row(t, Op::kBuildSlice) = {build_slice};
  row(t, Op::kBuildString) = {build_string};
  row(t, Op::kFormatValue) = {format_value, loud_format};
  row(t, Op::kConvertValue) = {convert_value, loud_convert};
  row(t, Op::kListAppend) = {list_append};
  row(t, Op::kSetAdd) = {set_add, loud_hash};
  row(t, Op::kMapAdd) = {map_add, loud_map_add};
  row(t, Op::kListExtend) = {list_extend, loud_top};
  row(t, Op::kSetUpdate) = {set_update, loud_top};
  row(t, Op::kDictUpdate) = {dict_update, loud_top};
  row(t, Op::kDictMerge) = {dict_merge};
  row(t, Op::kListToTuple) = {list_to_tuple};
  row(t, Op::kUnpackSequence) = {unpack_sequence};
  row(t, Op::kUnpackEx) = {unpack_ex};
}

}  // namespace breakline::resume
