// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/guard/snapshot.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/guard/marks.h"

namespace breakline::guard {

#if PY_VERSION_HEX < 0x030D0000
namespace {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
uint64_t version_of(PyObject* dict) { return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag; }
#pragma GCC diagnostic pop

PyObject* slot_value(const GuardContext& c, int64_t index) {
  return static_cast<size_t>(index) < c.slot_count ? c.slots[index] : c.handled;
}

}  // namespace

bool Snapshot::supported() { return true; }

void Snapshot::record(GuardProgram& p, GuardContext& c) {
  const bool first = seen_.size() != p.sources.size();
  for (const GuardProgram::Drawn& d : p.drawn) c.values[static_cast<size_t>(d.source)] = nullptr;  // of the last run
  // Which sources give the same object again and again is known from the second time on. An object of one
  // check alone has its address by chance.
  varied_.resize(p.sources.size(), false);
  std::unordered_set<PyObject*> passing;
  for (const py::Ref& made : c.owned) passing.insert(made.get());
  for (size_t i = 0; i < p.sources.size(); ++i)
    varied_[i] = varied_[i] || passing.contains(c.values[i]) || (!first && seen_[i] != c.values[i]);
  auto steady = [&](size_t id) { return !first && c.values[id] && !varied_[id]; };
  seen_.assign(c.values, c.values + p.sources.size());
  items_.clear();
  covered_.clear();
  tensors_.clear();
  values_.assign(p.sources.size(), nullptr);
  // A source is stable when nothing but versions and pinned sources decides what it yields: then its object
  // has the address of the last time. That alone does not make it the same object (the old one may have been
  // freed and another made in its place); `sure` sources are: somebody who is checked holds them. `of_dict`
  // is the dict whose version says so, as an index of `dicts`: what was read out of it is read again when
  // that version is another one.
  std::vector<bool> stable(p.sources.size(), false), sure(p.sources.size(), false);
  std::vector<int32_t> of_dict(p.sources.size(), -1);
  struct Dict {
    size_t item;
    std::vector<int32_t> steps;
  };
  std::vector<Dict> dicts;
  std::unordered_map<PyObject*, int32_t> versioned;
  std::unordered_set<int32_t> types;
  auto item = [&](uint8_t kind, int64_t index, PyObject* object = nullptr, uint64_t version = 0) {
    items_.push_back({kind, static_cast<int32_t>(index), object, version});
  };
  auto watch_dict = [&](PyObject* d) {
    auto [it, fresh] = versioned.try_emplace(d, static_cast<int32_t>(dicts.size()));
    if (fresh) {
      dicts.push_back({items_.size(), {}});
      item(kDictVersion, -1, d, version_of(d));
    }
    return it->second;
  };
  auto covers = [&](int32_t dict, size_t step) {
    if (dict >= 0) dicts[static_cast<size_t>(dict)].steps.push_back(static_cast<int32_t>(step));
  };
  for (size_t i = 0; i < p.steps.size(); ++i) {
    GuardStep& x = p.steps[i];
    if (x.kind == StepKind::kTypeVersion) {
      if (types.insert(x.extra).second) item(kTypeRecord, x.extra);
      continue;
    }
    size_t id = static_cast<size_t>(x.source);
    PyObject* value = c.values[id];
    if (x.kind != StepKind::kFetch) {
      bool covered = stable[id];
      int32_t dict = of_dict[id];
      uint8_t otherwise = kResidual;
      switch (x.kind) {
        case StepKind::kIdentity:
          sure[id] = sure[id] || covered;
          break;  // the step holds its object
        case StepKind::kEqual:
          covered = sure[id];
          break;  // plain constants don't change
        case StepKind::kDictLength:
        case StepKind::kDictKeys:
        case StepKind::kDictAbsent:
          // OrderedDict.move_to_end reorders without a new version; only exact dicts are versioned wholly.
          if (covered && PyDict_CheckExact(value))
            dict = watch_dict(value);
          else
            covered = false;
          break;
        case StepKind::kNotIdentity:
          break;  // the step holds its object: no other gets the address
        case StepKind::kTensor:
          // The tensor of last time, most likely: its words are compared as a whole first.
          if (torch::MetaImage& image = p.tensors[static_cast<size_t>(x.extra)].image; covered) {
            image = torch::image_of(value);
            if (image.count) otherwise = kTensorImages;
          } else {
            image.count = 0;
          }
          covered = false;
          break;
        case StepKind::kNotAmong: {
          const std::vector<SourceId>& group = p.groups[static_cast<size_t>(x.number >> 32) - 1];
          const auto end = group.begin() + (x.number & 0xffffffff);
          covered = covered && std::all_of(group.begin(), end,
                                           [&](SourceId g) { return stable[static_cast<size_t>(g)]; });
          break;
        }
        case StepKind::kSame:
        case StepKind::kNotSame:
          covered = covered && stable[static_cast<size_t>(x.number)];
          break;
        default:
          covered = false;
      }
      if (covered) {
        covers(dict, i);
      } else if (otherwise == kTensorImages) {
        const TensorRecord& r = p.tensors[static_cast<size_t>(x.extra)];
        if (items_.empty() || items_.back().kind != kTensorImages) {
          item(kTensorImages, 0);
          items_.back().first = static_cast<int32_t>(tensors_.size());
        }
        tensors_.push_back({value, torch::impl_of(value, r.image), r.type, static_cast<int32_t>(i), r.image});
        items_.back().last = static_cast<int32_t>(tensors_.size());
      } else {
        item(otherwise, static_cast<int64_t>(i));
      }
      continue;
    }
    const Source& s = p.sources[id];
    const size_t above = static_cast<size_t>(std::max(s.parent, 0));
    bool parent_stable = s.parent < 0 || stable[above];
    PyObject* parent = s.parent >= 0 ? c.values[above] : nullptr;
    bool parent_sure = s.parent < 0 || sure[above];
    bool is_stable = false, is_sure = false;
    int32_t dict = s.parent >= 0 ? of_dict[above] : -1;
    switch (s.kind) {
      case SourceKind::kObject:
        is_stable = is_sure = true;
        break;
      case SourceKind::kInstanceDict:
        if (parent_stable && _PyObject_GetDictPtr(parent)) {
          is_stable = true;
          item(kDictOfOwner, s.parent, value);
        }
        dict = -1;  // a version is no other dict's, so the address says enough
        break;
      case SourceKind::kDictItem:
        if (parent_stable && PyDict_Check(parent) && !varied_[id]) {
          is_stable = is_sure = true;
          dict = watch_dict(parent);
        }
        break;
      case SourceKind::kMethodSelf:
      case SourceKind::kMethodFunction:
      case SourceKind::kClosureCell:
        is_stable = is_sure = parent_stable && parent_sure;
        break;
      case SourceKind::kItem:
        is_stable = is_sure = parent_stable && parent_sure && PyTuple_Check(parent);
        break;
      default:
        break;
    }
    if (is_stable) {
      if (s.kind != SourceKind::kInstanceDict) covers(dict, i);
    } else if (steady(id)) {
      is_stable = true;
      dict = -1;
      if (s.kind == SourceKind::kSlot)
        item(kPinnedSlot, s.index, value);
      else
        item(kPinnedFetch, static_cast<int64_t>(i), value);
    } else {
      item(kResidual, static_cast<int64_t>(i));
    }
    stable[id] = is_stable;
    sure[id] = is_sure;
    of_dict[id] = is_stable ? dict : -1;
    if (is_stable) values_[id] = value;
  }
  for (const Dict& d : dicts) {
    Item& x = items_[d.item];
    x.first = static_cast<int32_t>(covered_.size());
    covered_.insert(covered_.end(), d.steps.begin(), d.steps.end());
    x.last = static_cast<int32_t>(covered_.size());
  }
}

bool Snapshot::refresh(Item& x, GuardProgram& p, GuardContext& c) {
  if (!PyDict_Check(x.object)) return false;
  const uint64_t now = version_of(x.object);
  for (int32_t i = x.first; i < x.last; ++i) {
    GuardStep& step = p.steps[static_cast<size_t>(covered_[static_cast<size_t>(i)])];
    PyObject*& value = c.values[static_cast<size_t>(step.source)];
    PyObject* const before = value;
    const bool holds = p.run_step(step, c) && value == before;
    value = before;
    if (!holds) return false;
  }
  x.version = now;
  return true;
}

bool Snapshot::check_tensors(const Item& item, GuardProgram& p, GuardContext& c) {
  constexpr int kAhead = 6;
  const bool marks = marks_in_use();  // the same tensor may have been marked since
  TensorCheck* const first = tensors_.data() + item.first;
  TensorCheck* const last = tensors_.data() + item.last;
  for (TensorCheck* t = first; t != last; ++t) {
    if (t + kAhead < last) {
      const TensorCheck& next = t[kAhead];
      __builtin_prefetch(next.tensor);
      for (int line = 0; line < 4; ++line) __builtin_prefetch(next.impl + 64 * line);
    }
    if (!marks && Py_TYPE(t->tensor) == t->type && torch::image_holds(t->tensor, t->image)) continue;
    if (!p.run_step(p.steps[static_cast<size_t>(t->step)], c)) return false;
  }
  return true;
}

bool Snapshot::check(GuardProgram& p, GuardContext& c) {
  if (seen_.size() != p.sources.size()) return false;
  if (lent_) {
    c.room = values_;
    c.values = c.room.data();
  } else {
    lent_ = true;
    c.lent = &lent_;
    c.values = values_.data();
  }
  for (Item& x : items_) {
    switch (x.kind) {
      case kPinnedSlot:
        if (slot_value(c, x.index) != x.object) return false;
        break;
      case kPinnedFetch: {
        GuardStep& step = p.steps[static_cast<size_t>(x.index)];
        if (!p.run_step(step, c) || c.values[static_cast<size_t>(step.source)] != x.object) return false;
        break;
      }
      case kDictOfOwner: {
        PyObject** place = _PyObject_GetDictPtr(c.values[static_cast<size_t>(x.index)]);
        if (!place || *place != x.object) return false;
        break;
      }
      case kDictVersion:
        if (version_of(x.object) != x.version && !refresh(x, p, c)) return false;
        break;
      case kTypeRecord:
        if (!p.types[static_cast<size_t>(x.index)].holds()) return false;
        break;
      case kTensorImages:
        if (!check_tensors(x, p, c)) return false;
        break;
      case kResidual:
        if (!p.run_step(p.steps[static_cast<size_t>(x.index)], c)) return false;
        break;
    }
  }
  return true;
}
#else
bool Snapshot::supported() { return false; }
void Snapshot::record(GuardProgram&, GuardContext&) {}
bool Snapshot::check(GuardProgram&, GuardContext&) { return false; }
#endif

}  // namespace breakline::guard
