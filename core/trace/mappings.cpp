// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/trace/mappings.h"

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

}  // namespace breakline::trace
