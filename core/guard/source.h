// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/flat_map.h"
#include "core/python/ref.h"

namespace breakline::guard {

/// Index of a source in its table; -1 = none.
using SourceId = int32_t;
constexpr SourceId kNoSource = -1;

enum class SourceKind : uint8_t {
  kSlot,          ///< index = slot of the state; the handled exception is the slot after the last
  kObject,        ///< key = the object itself, kept alive
  kDictItem,      ///< parent is a dict, key = constant key
  kAttribute,     ///< getattr(parent, key); only where that runs no user code
  kInstanceDict,  ///< parent.__dict__
  kItem,          ///< list or tuple item `index`
  kCell,          ///< content of a cell
  kMethodSelf,    ///< __self__ of a bound method
  kMethodFunction,
  kClosureCell,   ///< cell `index` of a function's closure
  kDefault,       ///< positional default `index`
  kKeywordDefault,///< keyword-only default `key`
  kWeakTarget,    ///< referent of a weak reference
  kGlobals,       ///< globals of a function
  kDictKey,       ///< `index`-th key of a dict, in order
  kExpression,    ///< key = operator callable applied to parent and `second` (none: to parent alone)
  kQuery,         ///< key = tuple (callable, arguments…): a question about the process that runs no user code
  kDraw,          ///< key = tuple (callable, arguments…) that gives another number each time; see GuardProgram::draw
  kTensorSize,    ///< size of dimension `index` of a tensor
  kNodeSize,      ///< size of a graph's value: `index` = value * kMostDims + dimension; see GuardContext::shapes
};
constexpr int64_t kMostDims = 256;

/// How an object is reached. Interned: equal sources have equal ids.
struct Source {
  SourceKind kind = SourceKind::kSlot;
  SourceId parent = kNoSource;
  SourceId second = kNoSource;
  int64_t index = 0;
  py::Ref key;
};

/// A text that names the same place in another trace of the same site.
std::string source_path(const std::function<const Source&(SourceId)>& get, SourceId id);

/// The sources of one trace, parents before children.
class SourceTable {
 public:
  SourceId slot(int64_t index);
  SourceId object(PyObject* object);
  SourceId child(SourceKind kind, SourceId parent, PyObject* key = nullptr, int64_t index = 0,
                 SourceId second = kNoSource);
  const Source& operator[](SourceId id) const { return sources_[static_cast<size_t>(id)]; }
  size_t size() const { return sources_.size(); }
  std::vector<Source> take() { return std::move(sources_); }

 private:
  struct Key {
    SourceKind kind = SourceKind::kSlot;
    SourceId parent = kNoSource, second = kNoSource;
    int64_t index = 0;
    PyObject* key = nullptr;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const;
  };
  SourceId intern(const Key& key);
  std::vector<Source> sources_;
  FlatMap<Key, SourceId, KeyHash, true> index_;
};

}  // namespace breakline::guard
