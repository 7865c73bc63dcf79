// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/trace/mappings.h"

#include "core/trace/types.h"

namespace breakline::trace {

bool each_of_mapping(Tracer& t, Value* from, const std::function<void(Value*, Value*)>& use) {
  t.force(from);
  const bool object = from->kind == Kind::kLive || from->kind == Kind::kInstance;
  if (from->kind != Kind::kDict && !object) return false;
  Value* content = from;
  if (object) {
    PyTypeObject* type = t.type_of(from);
    const bool as_dict = PyType_IsSubtype(type, &PyDict_Type) && type->tp_iter == PyDict_Type.tp_iter;
    content = as_dict ? t.payload(from) : nullptr;
    if (as_dict && !content) return false;
  }
  if (content) {
    t.dict_load(content);
    DictEntries entries = content->dict ? content->dict->entries : DictEntries();
    for (DictEntry& e : entries) use(e.key, e.value);
    return true;
  }
  bool missing = false;
  Value* keys = t.attribute(from, py::intern("keys"), &missing);
  if (missing || !keys) return false;
  for (Value* key : t.drain(t.iterator_of(t.call_nested(keys, {})))) use(key, t.subscript(from, key));
  return true;
}

Value* held_dict(Tracer& t, Value* v) {
  t.force(v);
  Value* held = v->kind == Kind::kDict ? v : t.type_of(v) == &PyDictProxy_Type ? nullptr : t.payload(v);
  return held && held->kind == Kind::kDict ? held : nullptr;
}

Value* join_dicts(Tracer& t, Value* a, Value* b, Value* maker) {
  t.dict_load(a);
  t.dict_load(b);
  Value* out = t.new_dict();
  out->type = maker->type;
  if (out->type == default_dict_type()) out->items = {t.attribute(maker, py::intern("default_factory"))};
  for (Value* from : {a, b}) {
    const DictEntries entries = from->dict->entries;
    for (const DictEntry& e : entries) t.dict_set(out, e.key, e.value);
  }
  return out;
}

Value* dict_of_keys(Tracer& t, PyTypeObject* type, const Values& args) {
  const bool ordered = type == ordered_dict_type(), with_default = type == default_dict_type();
  if (type != &PyDict_Type && !ordered && !with_default) return nullptr;
  Value* d = t.new_dict();
  if (type != &PyDict_Type) d->type = type;
  if (with_default) d->items = {t.none()};
  for (Value* key : t.drain(args[0])) t.dict_set(d, key, args.size() > 1 ? args[1] : t.none());
  return d;
}

}  // namespace breakline::trace
