// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/guard/source.h"

namespace breakline::guard {

size_t SourceTable::KeyHash::operator()(const Key& k) const {
  size_t h = static_cast<size_t>(k.kind);
  for (size_t part : {static_cast<size_t>(k.parent), static_cast<size_t>(k.second), static_cast<size_t>(k.index),
                      reinterpret_cast<size_t>(k.key)})
    h = (h ^ part) * 0x9E3779B97F4A7C15ull;
  return h ^ h >> 32;
}

SourceId SourceTable::intern(const Key& key) {
  const auto [id, fresh] = index_.try_emplace(key, static_cast<SourceId>(sources_.size()));
  if (fresh) sources_.push_back({key.kind, key.parent, key.second, key.index, py::Ref::borrow(key.key)});
  return *id;
}

std::string source_path(const std::function<const Source&(SourceId)>& get, SourceId id) {
  std::string path;
  for (SourceId i = id; i >= 0;) {
    const Source& s = get(i);
    path += std::to_string(static_cast<int>(s.kind)) + "." + std::to_string(s.index);
    if (s.key) path += s.kind == SourceKind::kObject ? std::to_string(reinterpret_cast<size_t>(s.key.get())) : py::repr(s.key.get(), 60);
    path += "/";
    i = s.parent;
  }
  return path;
}

SourceId SourceTable::slot(int64_t index) {
  return intern({SourceKind::kSlot, kNoSource, kNoSource, index, nullptr});
}

SourceId SourceTable::object(PyObject* object) {
  return intern({SourceKind::kObject, kNoSource, kNoSource, 0, object});
}

SourceId SourceTable::child(SourceKind kind, SourceId parent, PyObject* key, int64_t index, SourceId second) {
  return intern({kind, parent, second, index, key});
}

}  // namespace breakline::guard
