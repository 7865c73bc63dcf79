// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/guard/program.h"

#include <algorithm>

#include "core/guard/equality.h"
#include "core/guard/marks.h"
#include "core/guard/snapshot.h"
#include "core/torch/tensor.h"

namespace breakline::guard {

bool TypeRecord::holds() {
  auto* t = reinterpret_cast<PyTypeObject*>(type.get());
  if (version != 0 && t->tp_version_tag == version) return true;
  if (order && t->tp_mro != order.get()) return false;
  for (auto& [name, expected] : lookups) {
    PyObject* found = py::type_lookup(t, name.get());
    if (found == expected.get()) continue;
    if (!found || !expected || !same_constant(found, expected.get())) return false;
  }
  version = t->tp_version_tag;
  return true;
}

GuardProgram::GuardProgram() = default;
GuardProgram::~GuardProgram() = default;
GuardProgram::GuardProgram(GuardProgram&&) noexcept = default;
GuardProgram& GuardProgram::operator=(GuardProgram&&) noexcept = default;

namespace {

PyObject* own(GuardContext& c, PyObject* fresh) {
  if (!fresh) {
    PyErr_Clear();
    return nullptr;
  }
  c.owned.push_back(py::Ref::steal(fresh));
  return fresh;
}

PyObject* instance_dict(PyObject* o) {
  PyObject** place = _PyObject_GetDictPtr(o);
  return place ? *place : nullptr;
}

PyObject* instance_dict_or_make(GuardContext& c, PyObject* o) {
  if (PyObject* d = instance_dict(o)) return d;
  return own(c, PyObject_GenericGetDict(o, nullptr));
}

PyObject* dict_item(PyObject* d, PyObject* key) {
  if (!d || !PyDict_Check(d)) return nullptr;
  if (PyTypeObject* type = Py_TYPE(key); (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && type->tp_hash != PyBaseObject_Type.tp_hash) {
    // The very key that was seen: a __hash__ of the program must not notice.
    PyObject *k, *v;
    for (Py_ssize_t at = 0; PyDict_Next(d, &at, &k, &v);)
      if (k == key) return v;
  }
  PyObject* v = PyDict_GetItemWithError(d, key);
  if (!v) PyErr_Clear();
  return v;
}

PyObject* sequence_item(PyObject* s, int64_t i) {
  if (!s) return nullptr;
  if (PyList_Check(s)) return i < PyList_GET_SIZE(s) ? PyList_GET_ITEM(s, i) : nullptr;
  if (PyTuple_Check(s)) return i < PyTuple_GET_SIZE(s) ? PyTuple_GET_ITEM(s, i) : nullptr;
  return nullptr;
}

PyObject* weak_target(GuardContext& c, PyObject* ref) {
  if (!PyWeakref_Check(ref)) return nullptr;
  PyObject* target = PyWeakref_GetObject(ref);
  if (!target) {
    PyErr_Clear();
    return nullptr;
  }
  Py_INCREF(target);
  return own(c, target);
}

/// Keys in iteration order equal `expected`. An OrderedDict keeps an order of its own.
bool dict_keys_are(PyObject* d, PyObject* expected) {
  if (!PyDict_Check(d) || PyDict_GET_SIZE(d) != PyTuple_GET_SIZE(expected)) return false;
  if (!PyODict_Check(d)) {
    Py_ssize_t pos = 0, i = 0;
    PyObject *k, *v;
    while (PyDict_Next(d, &pos, &k, &v)) {
      PyObject* want = PyTuple_GET_ITEM(expected, i++);
      if (k != want && !same_constant(k, want)) return false;
    }
    return true;
  }
  py::Ref order = py::Ref::steal(PyODict_Type.tp_iter(d));  // a subclass may have an __iter__ of its own
  py::Ref keys = order ? py::Ref::steal(PySequence_Tuple(order.get())) : py::Ref();
  if (!keys) {
    PyErr_Clear();
    return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(expected); ++i) {
    PyObject *k = PyTuple_GET_ITEM(keys.get(), i), *want = PyTuple_GET_ITEM(expected, i);
    if (k != want && !same_constant(k, want)) return false;
  }
  return true;
}

bool set_items_are(PyObject* s, PyObject* expected) {
  if (!PyAnySet_Check(s) || PySet_GET_SIZE(s) != PyTuple_GET_SIZE(expected)) return false;
  py::Ref items = py::Ref::steal(PySequence_Tuple(s));
  if (!items) {
    PyErr_Clear();
    return false;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(expected); ++i) {
    PyObject *item = PyTuple_GET_ITEM(items.get(), i), *want = PyTuple_GET_ITEM(expected, i);
    if (item != want && !same_constant(item, want)) return false;
  }
  return true;
}

int64_t byte_distance(PyObject* a, PyObject* b) {
  return static_cast<char*>(torch::data_ptr(a)) - static_cast<char*>(torch::data_ptr(b));
}

bool same_storage(PyObject* a, PyObject* b) {
  auto x = torch::storage_of(a), y = torch::storage_of(b);
  return x.bytes && y.bytes && x.begin == y.begin;
}

bool tensor_is(PyObject* o, TensorRecord& r) {
  if (Py_TYPE(o) != r.type || !marks_allow(o, r.marked)) return false;
  if (r.image.count && torch::image_holds(o, r.image)) return true;
  torch::RawMeta m = torch::raw_meta(o);
  if (m.rank != r.meta.rank() || m.dtype != r.meta.dtype || m.device != r.meta.device || m.key_set != r.key_set ||
      m.requires_grad != r.meta.requires_grad)
    return false;
  if (m.requires_grad && m.is_leaf != r.meta.is_leaf) return false;
  if (!r.open.empty()) {
    for (size_t d = 0; d < r.open.size(); ++d)
      if (r.open[d] ? m.sizes[d] < 2 : m.sizes[d] != r.meta.sizes[d]) return false;
    return true;
  }
  return std::equal(r.meta.sizes.begin(), r.meta.sizes.end(), m.sizes) &&
         std::equal(r.meta.strides.begin(), r.meta.strides.end(), m.strides);
}

}  // namespace

bool GuardProgram::fetch(SourceId id, GuardContext& c) {
  const Source& s = sources[static_cast<size_t>(id)];
  PyObject* parent = s.parent >= 0 ? c.values[static_cast<size_t>(s.parent)] : nullptr;
  PyObject* out = nullptr;
  switch (s.kind) {
    case SourceKind::kSlot:
      out = static_cast<size_t>(s.index) < c.slot_count ? c.slots[s.index] : c.handled;
      break;
    case SourceKind::kObject: out = s.key.get(); break;
    case SourceKind::kDictItem: out = dict_item(parent, s.key.get()); break;
    case SourceKind::kAttribute: out = parent ? own(c, PyObject_GetAttr(parent, s.key.get())) : nullptr; break;
    case SourceKind::kInstanceDict: out = parent ? instance_dict_or_make(c, parent) : nullptr; break;
    case SourceKind::kItem:
      out = sequence_item(parent, s.index);
      if (!out && parent && Py_TYPE(parent)->tp_as_sequence && !PyList_Check(parent) && !PyTuple_Check(parent))
        out = own(c, PySequence_GetItem(parent, s.index));  // a deque
      break;
    case SourceKind::kCell: out = parent && PyCell_Check(parent) ? PyCell_GET(parent) : nullptr; break;
    case SourceKind::kMethodSelf: out = parent && PyMethod_Check(parent) ? PyMethod_GET_SELF(parent) : nullptr; break;
    case SourceKind::kMethodFunction:
      out = parent && PyMethod_Check(parent) ? PyMethod_GET_FUNCTION(parent) : nullptr;
      break;
    case SourceKind::kClosureCell:
      out = parent && PyFunction_Check(parent) ? sequence_item(PyFunction_GET_CLOSURE(parent), s.index) : nullptr;
      break;
    case SourceKind::kDefault:
      out = parent && PyFunction_Check(parent) ? sequence_item(PyFunction_GET_DEFAULTS(parent), s.index) : nullptr;
      break;
    case SourceKind::kKeywordDefault:
      out = parent && PyFunction_Check(parent) ? dict_item(PyFunction_GET_KW_DEFAULTS(parent), s.key.get()) : nullptr;
      break;
    case SourceKind::kWeakTarget: out = parent ? weak_target(c, parent) : nullptr; break;
    case SourceKind::kGlobals: out = parent && PyFunction_Check(parent) ? PyFunction_GET_GLOBALS(parent) : nullptr; break;
    case SourceKind::kDictKey: {
      if (!parent || !PyDict_Check(parent)) return false;
      Py_ssize_t pos = 0;
      PyObject *k, *v;
      for (int64_t i = 0; PyDict_Next(parent, &pos, &k, &v); ++i)
        if (i == s.index) {
          out = k;
          break;
        }
      break;
    }
    case SourceKind::kExpression: {
      if (!parent) break;
      if (s.second < 0) {
        out = own(c, PyObject_CallOneArg(s.key.get(), parent));
      } else if (PyObject* b = c.values[static_cast<size_t>(s.second)]) {
        out = own(c, PyObject_CallFunctionObjArgs(s.key.get(), parent, b, nullptr));
      }
      break;
    }
    case SourceKind::kDraw:
    case SourceKind::kQuery: {
      py::Ref args = py::Ref::steal(PyTuple_GetSlice(s.key.get(), 1, PyTuple_GET_SIZE(s.key.get())));
      out = args ? own(c, PyObject_CallObject(PyTuple_GET_ITEM(s.key.get(), 0), args.get())) : nullptr;
      break;
    }
    case SourceKind::kTensorSize:
      if (parent) {
        const torch::RawMeta m = torch::raw_meta(parent);
        if (s.index < m.rank) out = own(c, PyLong_FromLongLong(m.sizes[s.index]));
      }
      break;
    case SourceKind::kNodeSize:
      if (c.shapes) {
        const auto& sizes = c.shapes->values[static_cast<size_t>(s.index / kMostDims)].meta.sizes;
        const auto d = static_cast<size_t>(s.index % kMostDims);
        if (d < sizes.size()) out = own(c, PyLong_FromLongLong(sizes[d]));
      }
      break;
  }
  c.values[static_cast<size_t>(id)] = out;
  return out != nullptr;
}

bool GuardProgram::run_step(GuardStep& x, GuardContext& c) {
  if (x.kind == StepKind::kFetch) return fetch(x.source, c);
  if (x.kind == StepKind::kTypeVersion) return types[static_cast<size_t>(x.extra)].holds();
  PyObject* o = c.values[static_cast<size_t>(x.source)];
  if (!o) return false;
  switch (x.kind) {
    case StepKind::kType: return reinterpret_cast<PyObject*>(Py_TYPE(o)) == x.object.get();
    case StepKind::kIdentity: return o == x.object.get();
    case StepKind::kNotIdentity: return o != x.object.get();
    case StepKind::kEqual: return same_constant(o, x.object.get());
    case StepKind::kLength:
      if (PyList_Check(o) || PyTuple_Check(o)) return Py_SIZE(o) == x.number;
      return Py_TYPE(o)->tp_as_sequence && Py_TYPE(o)->tp_as_sequence->sq_length && Py_TYPE(o)->tp_as_sequence->sq_length(o) == x.number;
    case StepKind::kDictLength: return PyDict_Check(o) && PyDict_GET_SIZE(o) == x.number;
    case StepKind::kDictKeys: return dict_keys_are(o, x.object.get());
    case StepKind::kDictAbsent: return PyDict_Check(o) && !dict_item(o, x.object.get());
    case StepKind::kSetItems: return set_items_are(o, x.object.get());
    case StepKind::kTensor: return tensor_is(o, tensors[static_cast<size_t>(x.extra)]);
    case StepKind::kSame: return o == c.values[static_cast<size_t>(x.number)];
    case StepKind::kNotSame: return o != c.values[static_cast<size_t>(x.number)];
    case StepKind::kNoOverlap: return !same_storage(o, c.values[static_cast<size_t>(x.number)]);
    case StepKind::kOverlapAs: {
      PyObject* b = c.values[static_cast<size_t>(x.number)];
      return same_storage(o, b) && byte_distance(o, b) == PyLong_AsLongLong(x.object.get());
    }
    case StepKind::kNotNone: return true;
    case StepKind::kEmptyCell: return PyCell_Check(o) && !PyCell_GET(o);
    case StepKind::kFunctionCode: return PyFunction_Check(o) && PyFunction_GET_CODE(o) == x.object.get();
    case StepKind::kNoInstanceDict: {
      PyObject** place = _PyObject_GetDictPtr(o);
      return !place || !*place || PyDict_GET_SIZE(*place) == 0;
    }
    case StepKind::kIsException:
      return PyErr_GivenExceptionMatches(o, x.object.get()) == static_cast<int>(x.number);
    case StepKind::kNotAmong: {
      const std::vector<SourceId>& group = groups[static_cast<size_t>(x.number >> 32) - 1];
      const auto end = group.begin() + (x.number & 0xffffffff);
      return std::none_of(group.begin(), end, [&](SourceId id) { return c.values[static_cast<size_t>(id)] == o; });
    }
    case StepKind::kStorageOffset: return torch::raw_meta(o).storage_offset == x.number;
    default: return false;
  }
}

bool GuardProgram::run_all(GuardContext& c) {
  c.room.assign(sources.size(), nullptr);
  c.values = c.room.data();
  for (size_t i = 0; i < steps.size(); ++i)
    if (!run_step(steps[i], c)) {
      c.failed_step = static_cast<int>(i);
      return false;
    }
  c.failed_step = -1;
  return true;
}

bool GuardProgram::check(GuardContext& c) {
  constexpr int kMostMisses = 8;  // each teaches the snapshot a source that varies
  c.release();
  // The first record sees no slot twice, so it pins none: the second one counts.
  if (snapshot_ && successes_ >= 3 && snapshot_misses_ < kMostMisses) {
    if (snapshot_->check(*this, c)) return true;
    c.release();
  }
  if (!run_all(c)) return false;
  if (snapshot_ && snapshot_->in_use()) return true;
  // A snapshot is worth its making only for a program that is used again and has something to skip.
  if (++successes_ >= 2 && Snapshot::supported() && steps.size() > 4 && snapshot_misses_ < kMostMisses) {
    if (snapshot_ && successes_ > 3) ++snapshot_misses_;  // something it watches changes on every call
    if (!snapshot_) snapshot_ = std::make_unique<Snapshot>();
    snapshot_->record(*this, c);
  }
  return true;
}

bool GuardProgram::draw(GuardContext& c) {
  for (const Drawn& d : drawn) {
    if (!fetch(d.source, c)) {
      PyErr_Clear();
      return false;
    }
    if (Py_TYPE(c.values[static_cast<size_t>(d.source)]) != d.type) return false;
  }
  return true;
}

void GuardProgram::split_shapes(const std::vector<SourceId>& used) {
  of_shapes_.assign(sources.size(), false);
  for (size_t i = 0; i < sources.size(); ++i) {
    const Source& s = sources[i];
    const auto is = [&](SourceId id) { return id >= 0 && of_shapes_[static_cast<size_t>(id)]; };
    of_shapes_[i] = s.kind == SourceKind::kTensorSize || s.kind == SourceKind::kNodeSize || is(s.parent) || is(s.second);
  }
  std::vector<bool> root(sources.size(), false), seen(sources.size(), false);
  const auto look = [&](SourceId id, auto&& self) -> void {
    const auto i = static_cast<size_t>(id);
    if (seen[i]) return;
    seen[i] = true;
    const Source& s = sources[i];
    if (!of_shapes_[i]) {
      if (s.kind != SourceKind::kObject) root[i] = true;
      return;
    }
    if (s.kind != SourceKind::kTensorSize) {
      if (s.parent >= 0) self(s.parent, self);
      if (s.second >= 0) self(s.second, self);
    }
    shape_sources.push_back(id);
  };
  std::vector<GuardStep> kept;
  for (GuardStep& x : steps) {
    const bool pair = x.kind == StepKind::kSame || x.kind == StepKind::kNotSame;
    if (pair && x.source >= 0 && of_shapes_[static_cast<size_t>(x.number)] != of_shapes_[static_cast<size_t>(x.source)]) {
      // Two objects of which only one is made from sizes: they are the same by chance.
      if (x.kind == StepKind::kNotSame) continue;
    }
    if (x.source < 0 || !of_shapes_[static_cast<size_t>(x.source)]) {
      kept.push_back(std::move(x));
      continue;
    }
    look(x.source, look);
    if (x.kind != StepKind::kFetch) shape_steps.push_back(std::move(x));
  }
  for (const SourceId id : used) look(id, look);
  for (size_t i = 0; i < sources.size(); ++i)
    if (root[i]) shape_roots.push_back(static_cast<SourceId>(i));
  steps = std::move(kept);
}

void GuardProgram::begin_shapes(GuardContext& c, const graph::Graph* shapes) {
  c.shapes = shapes;
  for (const SourceId id : shape_sources) c.values[static_cast<size_t>(id)] = nullptr;
}

PyObject* GuardProgram::shape_value(SourceId id, GuardContext& c) {
  const auto i = static_cast<size_t>(id);
  if (c.values[i]) return c.values[i];
  const Source& s = sources[i];
  if (s.kind == SourceKind::kObject) return s.key.get();
  if (!of_shapes_[i]) return nullptr;
  if (s.parent >= 0 && !c.values[static_cast<size_t>(s.parent)]) c.values[static_cast<size_t>(s.parent)] = shape_value(s.parent, c);
  if (s.second >= 0 && !c.values[static_cast<size_t>(s.second)]) c.values[static_cast<size_t>(s.second)] = shape_value(s.second, c);
  return fetch(id, c) ? c.values[i] : nullptr;
}

bool GuardProgram::check_shapes(GuardContext& c) {
  for (size_t i = 0; i < shape_steps.size(); ++i) {
    if (shape_value(shape_steps[i].source, c) && run_step(shape_steps[i], c)) continue;
    c.failed_step = static_cast<int>(steps.size() + i);
    return false;
  }
  return true;
}

std::vector<int> GuardProgram::differing(GuardContext& c) {
  std::vector<int> found;
  for (auto i = static_cast<size_t>(std::max(c.failed_step, 0)); i < steps.size(); ++i) {
    if (run_step(steps[i], c)) continue;
    found.push_back(static_cast<int>(i));
    if (!differs_by_size(c, static_cast<int>(i))) break;  // what follows relies on it
  }
  return found;
}

bool GuardProgram::differs_by_size(const GuardContext& c, int index) const {
  if (index < 0) return false;
  const GuardStep& x = step(index);
  PyObject* now = x.source >= 0 ? c.values[static_cast<size_t>(x.source)] : nullptr;
  if (!now) return false;
  if (x.kind == StepKind::kTensor) {
    const TensorRecord& r = tensors[static_cast<size_t>(x.extra)];
    if (Py_TYPE(now) != r.type) return false;
    const torch::RawMeta m = torch::raw_meta(now);
    return m.rank == r.meta.rank() && m.dtype == r.meta.dtype && m.device == r.meta.device && m.key_set == r.key_set &&
           m.requires_grad == r.meta.requires_grad;
  }
  if (x.kind != StepKind::kEqual || !x.object || Py_TYPE(now) != Py_TYPE(x.object.get())) return false;
  return PyLong_CheckExact(now) || PyFloat_CheckExact(now);
}

std::string GuardProgram::describe(int index, PyObject* slots) const {
  if (index < 0 || static_cast<size_t>(index) >= steps.size() + shape_steps.size()) return "none";
  static constexpr const char* kNames[] = {
      "fetch", "type", "identity", "value", "length", "dict length", "dict keys", "key absent", "set items", "tensor",
      "same object", "different objects", "no overlap", "overlap", "bound", "empty cell", "function code",
      "type version", "no instance dict", "exception class", "storage offset", "another object", "not among"};
  const GuardStep& s = step(index);
  std::string text = kNames[static_cast<int>(s.kind)];
  if (s.source >= 0) {
    const Source& source = sources[static_cast<size_t>(s.source)];
    if (source.key) text += " of " + py::repr(source.key.get(), 40);
    if (source.kind == SourceKind::kSlot) {
      const bool named = slots && PyTuple_Check(slots) && source.index < PyTuple_GET_SIZE(slots);
      text += named ? " of " + py::repr(PyTuple_GET_ITEM(slots, source.index), 40) : " of slot " + std::to_string(source.index);
    }
  }
  if (s.kind == StepKind::kTensor) {
    std::string sizes;
    for (const int64_t n : tensors[static_cast<size_t>(s.extra)].meta.sizes) sizes += (sizes.empty() ? "" : ", ") + std::to_string(n);
    text += ", expected size [" + sizes + "]";
  }
  if (s.object) text += ", expected " + py::repr(s.object.get(), 60);
  return text;
}

void GuardProgram::drop_one_check() {
  for (size_t i = 0; i < steps.size(); ++i)
    if (steps[i].kind == StepKind::kEqual || steps[i].kind == StepKind::kTensor) {
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
}

}  // namespace breakline::guard
