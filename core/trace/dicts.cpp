// SPDX-License-Identifier: GPL-3.0-or-later
// Dicts: a live dict is read key by key under guards, with an overlay of what the trace changed.
#include <algorithm>

#include "core/guard/equality.h"
#include "core/trace/builtins.h"
#include "core/trace/hints.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

using guard::SourceKind;
using guard::StepKind;

namespace {

constexpr size_t kIndexFrom = 24;  // entries

/// Keys whose hash and equality run no user code.
bool is_safe_key(PyObject* o) {
  if (guard::is_plain_constant(o) || PyType_Check(o) || PyFunction_Check(o) || PyCFunction_Check(o) || PyModule_Check(o) || is_typing_object(o))
    return true;
  if (torch::available() && torch::is_native_enum(o)) return true;
  hashfunc h = Py_TYPE(o)->tp_hash;
  return h == PyBaseObject_Type.tp_hash || h == PyMethodDescr_Type.tp_hash || !(Py_TYPE(o)->tp_flags & Py_TPFLAGS_HEAPTYPE);
}

/// The key object that the dict holds for `k`, which is in it: an equal number may be of another type.
PyObject* stored_key(PyObject* dict, PyObject* k) {
  if (PyUnicode_CheckExact(k) || !guard::is_plain_constant(k)) return k;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) {
    if (key == k) return k;
    if (guard::is_plain_constant(key) && PyObject_RichCompareBool(key, k, Py_EQ) == 1) return key;
  }
  return k;
}

/// A number whose value is left open; as a key it is told from other numbers by comparisons that become guards.
bool is_open_number(const Value* v) { return v->kind == Kind::kLive && v->dynamic && PyLong_CheckExact(v->object); }
bool is_number(const Value* v) {
  return v->kind == Kind::kConstant && (PyLong_Check(v->object) || PyFloat_Check(v->object) || PyComplex_Check(v->object));
}
/// What a key hashes and compares as, where that is a constant; null for others. `Text("a")` is "a" here.
PyObject* key_constant(Tracer& t, Value* key) {
  if (key->kind == Kind::kConstant) return key->object;
  if (key->kind != Kind::kInstance && key->kind != Kind::kLive) return nullptr;
  Value* held = t.plain_scalar(key, {"__hash__", "__eq__"});
  return held ? t.constant_of(held) : nullptr;
}
/// Where a dict's index keeps keys that are left open: no hash is -1.
constexpr Py_hash_t kOpenKeys = -1;

/// The place of an entry whose key is left open and equals the number `key`, or, when `key` is left open, of any entry with that
/// number. Null: there is none.
Value** find_open(Tracer& t, DictData& data, Value* key) {
  const bool open = is_open_number(key);
  const auto holds = [&](DictEntry& e) {
    if (e.key == key) return true;
    if (!e.value || !(is_open_number(e.key) || (open && is_number(e.key)))) return false;
    return PyObject_IsTrue(t.need_constant(t.compare(Py_EQ, e.key, key), "truth")) == 1;
  };
  if (!open && !data.index.empty()) {
    auto [from, to] = data.index.equal_range(kOpenKeys);
    for (auto it = from; it != to; ++it)
      if (DictEntry& e = data.entries[static_cast<size_t>(it->second)]; holds(e) || (e.key->kind == Kind::kConstant && t.equal(e.key, key))) return &e.value;
    return nullptr;
  }
  for (DictEntry& e : data.entries)
    if (holds(e)) return &e.value;
  return nullptr;
}

}  // namespace

bool Tracer::own_hash(Value* key, Py_hash_t* hash) {
  force(key);
  if (key->kind != Kind::kLive && key->kind != Kind::kInstance) return false;
  if (key->function_live || key->dynamic) return false;
  Value* f = special_method(key, "__hash__");
  if (!f) return false;
  const size_t before = effects_.size(), touched = touched_.size(), nodes = graph_->nodes.size();
  PyObject* h = constant_of(call_nested(f, {key}));
  // The dict itself asks again when it is rebuilt: nothing may tell.
  if (!h || !PyLong_CheckExact(h) || effects_.size() != before || touched_.size() != touched || graph_->nodes.size() != nodes)
    stop("unhashable-key", {{"type", type_of(key)->tp_name}});
  *hash = hash_of_answer(constant(h));
  return true;
}

Value** Tracer::known_place(Value* d, PyObject* name) {
  if (d->kind != Kind::kDict || !PyUnicode_CheckExact(name)) return nullptr;
  DictEntries& entries = d->dict->entries;
  const int* at = places_.find({d, name});
  if (!at || static_cast<size_t>(*at) >= entries.size()) return nullptr;
  DictEntry& e = entries[static_cast<size_t>(*at)];
  return e.key->kind == Kind::kConstant && e.key->object == name ? &e.value : nullptr;
}

Value** Tracer::dict_find(Value* d, Value* key) {
  force(d);
  if (d->kind != Kind::kDict) stop("method-call", {{"class", describe(d)}, {"name", "__getitem__"}});
  const bool named = key->kind == Kind::kConstant && PyUnicode_CheckExact(key->object);
  if (named) {
    if (Value** known = known_place(d, key->object)) return known;
    return find_constant(d, key, key->object);
  }
  if (key->kind == Kind::kConstant && !is_safe_key(key->object)) {
    // Known by identity: the code of its class decides. (Members of an enum hash by their names, which stay.)
    PyObject* f = py::type_lookup(Py_TYPE(key->object), py::intern("__hash__"));
    if (f && PyFunction_Check(f) && !is_enum_member(key->object) && !is_fixed_native_type(Py_TYPE(key->object))) {
      Value* known = live(key->object, object_source(key->object));
      if (known->kind != Kind::kConstant) key = known;
    }
  }
  DictData& data = *d->dict;
  if (!identities_.empty()) {
    // ids of this trace and numbers don't mix.
    auto is_number = [](Value* v) { return v->kind == Kind::kConstant && PyLong_Check(v->object); };
    bool mixed = key->kind == Kind::kIdentity && d->source >= 0;
    for (DictEntry& e : data.entries)
      mixed = mixed || (key->kind == Kind::kIdentity ? is_number(e.key) : is_number(key) && e.key->kind == Kind::kIdentity);
    if (mixed) {
      if (key->kind != Kind::kIdentity) quiet("an id among numbers");
      key = number_of_identity(*this, key);
    }
  }
  force(key);
  if (key->kind == Kind::kLive && key->dynamic && !is_open_number(key)) constant_of(key);
  const bool plain_key = key->kind == Kind::kConstant && guard::is_plain_constant(key->object);
  if (is_open_number(key)) {
    if (d->source >= 0 && !d->loaded) {
      if (PyDict_GET_SIZE(d->object) == 0) {
        d->measured = true;
        guard(StepKind::kDictLength, d->source, nullptr, 0);
      } else {
        dict_load(d);
      }
    }
    const bool plain = std::all_of(data.entries.begin(), data.entries.end(), [key](const DictEntry& e) {
      return e.key == key || is_open_number(e.key) || (e.key->kind == Kind::kConstant && guard::is_plain_constant(e.key->object));
    });
    if (plain) return find_open(*this, data, key);
    constant_of(key);
  } else if (is_number(key)) {
    if (Value** place = find_open(*this, data, key)) return place;
  } else if (!plain_key) {
    // What is equal to such a key its class says.
    for (DictEntry& e : data.entries) {
      if (!is_open_number(e.key)) continue;
      constant_of(e.key);
      data.index.clear();
    }
  }
  if (Py_hash_t own; own_hash(key, &own)) {
    if (d->source >= 0 && !d->loaded) {
      if (PyDict_GET_SIZE(d->object) == 0) {
        guard(StepKind::kDictLength, d->source, nullptr, 0);
        if (data.entries.empty()) return nullptr;
      } else {
        dict_load(d);
      }
    }
    return find_by_code(d, key, own, false);
  }
  PyObject* k = constant_of(key);
  if (!k) k = key_constant(*this, key);
  if (k && !is_safe_key(k)) {
    // Enum members hash by name through Python code that has no effects.
    if (!PyType_IsSubtype(Py_TYPE(Py_TYPE(k)), &PyType_Type)) stop("unhashable-key", {{"type", Py_TYPE(k)->tp_name}});
  }
  if (!k) {
    if (key->kind == Kind::kTuple || key->kind == Kind::kList || key->kind == Kind::kDict || key->kind == Kind::kSet ||
        key->kind == Kind::kTensor || key->kind == Kind::kInstance || key->kind == Kind::kNative || key->kind == Kind::kDictView ||
        key->kind == Kind::kSlice || key->kind == Kind::kMade) {
      bool identity = key->kind == Kind::kTensor ||
                      (key->kind == Kind::kInstance &&
                       reinterpret_cast<PyTypeObject*>(key->object)->tp_hash == PyBaseObject_Type.tp_hash);
      if (!identity) stop("unhashable-key", {{"type", type_of(key)->tp_name}});
    } else if (key->kind == Kind::kLive && Py_TYPE(key->object)->tp_hash != PyBaseObject_Type.tp_hash) {
      stop("unhashable-key", {{"type", Py_TYPE(key->object)->tp_name}});
    }
    for (DictEntry& e : data.entries)
      if (e.key == key) return &e.value;
    for (DictEntry& e : data.entries) {
      const bool plain = e.key->kind == Kind::kConstant && guard::is_plain_constant(e.key->object);
      if (!plain && same(e.key, key)) return &e.value;
    }
    if (d->source >= 0 && !d->loaded) {
      if (PyDict_GET_SIZE(d->object) == 0) {
        d->measured = true;
        guard(StepKind::kDictLength, d->source, nullptr, 0);
        return nullptr;
      }
      dict_load(d);
      return dict_find(d, key);
    }
    return nullptr;
  }
  return find_constant(d, key, k);
}

Value** Tracer::find_by_code(Value* d, Value* key, Py_hash_t hash, bool only_coded) {
  for (size_t i = 0; i < d->dict->entries.size(); ++i) {
    Value* other = d->dict->entries[i].key;
    if (other == key) return &d->dict->entries[i].value;
    Py_hash_t its = 0;
    if (other->kind == Kind::kConstant && is_safe_key(other->object)) {
      if (only_coded) continue;
      its = PyObject_Hash(other->object);
    } else {
      // A key of an existing dict, known by identity: its class's own code says what it is equal to.
      if (other->kind == Kind::kConstant) other = live(other->object, object_source(other->object));
      if (only_coded && (is_open_number(other) || other->kind == Kind::kConstant)) continue;
      const bool by_identity = key->kind == Kind::kConstant && !guard::is_plain_constant(key->object);
      if (by_identity && same(other, key)) return &d->dict->entries[i].value;
      if (!own_hash(other, &its)) {
        if (only_coded || hashes_by_identity(other)) continue;
        stop("unhashable-key", {{"type", type_of(other)->tp_name}});
      }
    }
    if (its == hash && equal(other, key)) return &d->dict->entries[i].value;
  }
  return nullptr;
}

bool Tracer::may_hold_coded_keys(Value* d) {
  std::optional<bool>& known = d->dict->coded_keys;
  if (known) return *known;
  const SourceKind kind = sources_[d->source].kind;
  known = false;
  PyObject *k, *v;
  // The names of instances and modules are not looked through: there are many.
  if (kind != SourceKind::kInstanceDict && kind != SourceKind::kGlobals)
    for (Py_ssize_t at = 0; !*known && PyDict_Next(d->object, &at, &k, &v);) known = !is_safe_key(k) && !is_enum_member(k);
  return *known;
}

Value** Tracer::find_constant(Value* d, Value* key, PyObject* k) {
  DictData& data = *d->dict;
  if (d->source >= 0 && !d->loaded && may_hold_coded_keys(d)) dict_load(d);
  Py_hash_t hash = PyObject_Hash(k);
  if (hash == -1) quiet("hash", true);
  const bool named = PyUnicode_CheckExact(k);
  const auto found = [&](DictEntry& e) {
    if (named && e.key->object == k) places_.set({d, k}, static_cast<int>(&e - data.entries.data()));
    return &e.value;
  };
  auto equal_keys = [&](Value* other) {
    PyObject* its_key = key_constant(*this, other);
    if (!its_key) return false;
    if (its_key == k) return true;
    if (named && PyUnicode_CheckExact(its_key)) {
      const Py_hash_t its = reinterpret_cast<PyASCIIObject*>(its_key)->hash;
      if (its != -1 && its != hash) return false;
    }
    int r = PyObject_RichCompareBool(its_key, k, Py_EQ);
    if (r < 0) PyErr_Clear();
    return r == 1;
  };
  bool coded = false;  // a key is an object that may be `k`, or whose class has its own idea of what it is equal to
  if (data.entries.size() < kIndexFrom) {
    for (DictEntry& e : data.entries) {
      if (equal_keys(e.key)) return found(e);
      coded = coded || e.key->kind == Kind::kInstance || e.key->kind == Kind::kLive;
    }
  } else {
    if (data.index.empty()) {
      for (size_t i = 0; i < data.entries.size(); ++i) {
        Value* its = data.entries[i].key;
        PyObject* its_key = is_open_number(its) ? nullptr : key_constant(*this, its);
        if (its_key || is_open_number(its)) data.index.emplace(its_key ? PyObject_Hash(its_key) : kOpenKeys, static_cast<int>(i));
      }
    }
    auto [from, to] = data.index.equal_range(hash);
    for (auto it = from; it != to; ++it)
      if (DictEntry& e = data.entries[static_cast<size_t>(it->second)]; equal_keys(e.key)) return found(e);
    coded = data.index.size() < data.entries.size();
  }
  if (coded)
    if (Value** place = find_by_code(d, key, hash, true)) return place;
  if (d->source < 0 || d->loaded) return nullptr;
  PyObject* o = PyDict_GetItemWithError(d->object, k);
  if (PyErr_Occurred()) quiet("dict lookup", true);
  Value* v = nullptr;
  if (o) {
    PyObject* stored = stored_key(d->object, k);
    if (stored != k) key = constant(stored);
    const SourceId source = child(SourceKind::kDictItem, d->source, k);
    v = live(o, source);
    need(source);  // that the key is there counts, even if its value does not
  } else {
    guard(StepKind::kDictAbsent, d->source, k);
  }
  if (!data.index.empty()) data.index.emplace(hash, static_cast<int>(data.entries.size()));
  if (data.entries.empty()) data.entries.reserve(4);
  data.entries.push_back({key->kind == Kind::kConstant ? key : constant(k), v});
  return &data.entries.back().value;
}

Value* Tracer::dict_get(Value* d, Value* key) {
  Value** place = dict_find(d, key);
  return place ? *place : nullptr;
}

namespace {

/// Ranks the entries of an OrderedDict that is just loaded, where its own order is another one.
void note_order_below(DictData& data, PyObject* ordered) {
  std::unordered_map<PyObject*, int32_t> ranks;
  PyObject *k, *v;
  for (Py_ssize_t at = 0; PyDict_Next(ordered, &at, &k, &v);)
    ranks.emplace(k, static_cast<int32_t>(ranks.size()) + 1);
  int32_t last = 0;
  for (DictEntry& e : data.entries) {
    const auto it = ranks.find(e.key->object);
    e.rank = it == ranks.end() ? 0 : it->second;
    data.reordered = data.reordered || e.rank < last;
    last = e.rank;
  }
}

}  // namespace

void Tracer::dict_load(Value* d) {
  force(d);
  if (d->kind != Kind::kDict) stop("builtin", {{"function", "iter"}, {"arg_types", describe(d)}});
  if (d->source < 0 || d->loaded) return;
  if (!hints_.varying.empty() && hints_.varying.contains(keys_hint(source_path(d->source)))) quiet("varying value");
  PyTypeObject* ordered = ordered_dict_type();
  py::Ref order = d->owner && PyType_IsSubtype(Py_TYPE(d->object), ordered) ? py::check(ordered->tp_iter(d->object)) : py::Ref();
  py::Ref keys = order                                       ? py::check(PySequence_List(order.get()))
                 : PyDict_CheckExact(d->object) || d->owner ? py::check(PyDict_Keys(d->object))
                                                            : py::check(PySequence_List(d->object));
  py::Ref expected = py::check(PyList_AsTuple(keys.get()));
  std::unordered_map<PyObject*, PyObject*> content;  // no look-up: a __hash__ of the program must not notice
  {
    PyObject *k, *v;
    for (Py_ssize_t at = 0; PyDict_Next(d->object, &at, &k, &v);) content.emplace(k, v);
  }
  // dict's own methods change an OrderedDict past its order.
  if (PyODict_Check(d->object)) {
    bool consistent = static_cast<size_t>(PyTuple_GET_SIZE(expected.get())) == content.size();
    for (Py_ssize_t i = 0; consistent && i < PyTuple_GET_SIZE(expected.get()); ++i) consistent = content.contains(PyTuple_GET_ITEM(expected.get(), i));
    if (!consistent) quiet("an OrderedDict that was changed past its order");
  }
  guard(StepKind::kDictKeys, d->source, expected.get());
  d->loaded = true;
  DictEntries old = std::move(d->dict->entries);
  d->dict->entries.clear();
  d->dict->index.clear();
  std::vector<bool> used(old.size(), false);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(expected.get()); ++i) {
    PyObject* k = PyTuple_GET_ITEM(expected.get(), i);
    Value* key = nullptr;
    Value* value = nullptr;
    bool known = false, moved = false;
    for (size_t j = 0; j < old.size() && !known && !moved; ++j) {
      if (used[j] || old[j].key->kind != Kind::kConstant) continue;
      if (old[j].key->object != k && !guard::same_constant(old[j].key->object, k)) continue;
      moved = old[j].added && old[j].value;
      if (moved) continue;
      known = used[j] = true;
      value = old[j].value;
      key = old[j].key;
    }
    if (moved) continue;
    if (!known) {
      const auto found = content.find(k);
      if (found == content.end()) quiet("keys of a dict");
      PyObject* o = found->second;
      key = constant(k);
      value = live(o, child(SourceKind::kDictItem, d->source, k));
    }
    if (value) d->dict->entries.push_back({key, value});
  }
  if (PyODict_Check(d->object)) note_order_below(*d->dict, d->object);
  // What the trace has added comes after what was there; a key deleted and set again moved to the end too.
  for (size_t j = 0; j < old.size(); ++j)
    if (!used[j] && old[j].value) d->dict->entries.push_back(old[j]);
}

void Tracer::dict_set(Value* d, Value* key, Value* value, bool log) {
  Value** place = dict_find(d, key);
  mutated();
  if (!place || !*place) ++d->dict->layout;
  if (d->source >= 0 && log) {
    Effect e{Effect::kDictSet, d, key, value, nullptr};
    effects_.push_back(e);
    d->dirty = true;
    if (place && *place) release(*place);
    if (!place && !d->loaded && !is_open_number(key)) release(nullptr);  // (an unread dict with a key left open is empty)
  }
  if (place && (*place || !d->loaded)) {
    bool was_absent = *place == nullptr;
    *place = value;
    if (was_absent && d->source >= 0) {
      // A new key goes to the end of what is known.
      auto& entries = d->dict->entries;
      for (size_t i = 0; i < entries.size(); ++i)
        if (&entries[i].value == place) {
          DictEntry moved = entries[i];
          moved.added = true;
          if (key->kind == Kind::kConstant || key_constant(*this, key)) moved.key = key;
          entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i));
          entries.push_back(moved);
          d->dict->index.clear();
          break;
        }
    }
    return;
  }
  const bool open = is_open_number(key);
  PyObject* k = open ? nullptr : constant_of(key);
  PyObject* hashed = k || open ? k : key_constant(*this, key);
  if ((hashed || open) && !d->dict->index.empty()) d->dict->index.emplace(open ? kOpenKeys : PyObject_Hash(hashed), static_cast<int>(d->dict->entries.size()));
  d->dict->entries.push_back({k && key->kind != Kind::kConstant ? constant(k) : key, value, d->source >= 0});
}

void Tracer::dict_delete(Value* d, Value* key) {
  Value** place = dict_find(d, key);
  if (!place || !*place) quiet("KeyError", true);
  mutated();
  ++d->dict->layout;
  if (d->source >= 0) {
    effects_.push_back({Effect::kDictDelete, d, key, nullptr, nullptr});
    release(*place);
    d->dirty = true;
  }
  auto& entries = d->dict->entries;
  for (size_t i = 0; i < entries.size(); ++i)
    if (&entries[i].value == place) {
      if (d->source >= 0 && !d->loaded) {
        entries[i].value = nullptr;
      } else {
        entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i));
        d->dict->index.clear();
      }
      return;
    }
}

Py_ssize_t Tracer::dict_size(Value* d) {
  if (!d->dict) return 0;
  if (d->source >= 0 && !d->loaded && !d->dirty) {
    if (d->measured) return PyDict_GET_SIZE(d->object);
    if (!hints_.varying.empty() && hints_.varying.contains(length_hint(source_path(d->source)))) quiet("varying value");
    d->measured = true;
    guard(StepKind::kDictLength, d->source, nullptr, PyDict_GET_SIZE(d->object));
    return PyDict_GET_SIZE(d->object);
  }
  dict_load(d);
  return static_cast<Py_ssize_t>(d->dict->entries.size());
}

}  // namespace breakline::trace
