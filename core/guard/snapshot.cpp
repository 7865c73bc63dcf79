// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/guard/snapshot.h"

#include <algorithm>
#include <unordered_set>

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
  size_t slot_total = c.slot_count + 1;
  std::vector<PyObject*> now(slot_total);
  for (size_t i = 0; i < slot_total; ++i) now[i] = slot_value(c, static_cast<int64_t>(i));
  bool first = slots_.size() != slot_total;
  std::vector<bool> varies(slot_total, false);
  if (!first)
    for (size_t i = 0; i < slot_total; ++i) varies[i] = slots_[i] != now[i];
  slots_ = std::move(now);
  items_.clear();
  values_.assign(p.sources.size(), nullptr);
  // A source is stable when nothing but versions and pinned slots decides what it yields: then its object has the address
  // of the last time. That alone does not make it the same object (the old one may have been freed and another made in
  // its place); `sure` sources are: somebody who is checked holds them.
  std::vector<bool> stable(p.sources.size(), false), sure(p.sources.size(), false);
  std::unordered_set<PyObject*> versioned;
  std::unordered_set<int64_t> pinned;
  std::unordered_set<int32_t> types;
  auto residual = [&](size_t step) { items_.push_back({kResidual, static_cast<int32_t>(step), nullptr, 0}); };
  auto watch_dict = [&](PyObject* d) {
    if (versioned.insert(d).second) items_.push_back({kDictVersion, -1, d, version_of(d)});
  };
  for (size_t i = 0; i < p.steps.size(); ++i) {
    GuardStep& x = p.steps[i];
    if (x.kind == StepKind::kTypeVersion) {
      if (types.insert(x.extra).second) items_.push_back({kTypeRecord, x.extra, nullptr, 0});
      continue;
    }
    size_t id = static_cast<size_t>(x.source);
    PyObject* value = c.values[id];
    if (x.kind != StepKind::kFetch) {
      bool covered = stable[id];
      switch (x.kind) {
        case StepKind::kIdentity: sure[id] = sure[id] || covered; break;  // the step holds its object
        case StepKind::kEqual: covered = sure[id]; break;                 // plain constants don't change
        case StepKind::kDictLength:
        case StepKind::kDictKeys:
        case StepKind::kDictAbsent:
          // OrderedDict.move_to_end reorders without a new version; only exact dicts are versioned wholly.
          if (covered && PyDict_CheckExact(value)) watch_dict(value);
          else covered = false;
          break;
        case StepKind::kNotIdentity: break;  // the step holds its object: no other gets the address
        case StepKind::kTensor:
          // The tensor of last time, most likely: its words are compared as a whole first.
          if (covered) p.tensors[static_cast<size_t>(x.extra)].image = torch::image_of(value);
          covered = false;
          break;
        case StepKind::kNotAmong: {
          const std::vector<SourceId>& group = p.groups[static_cast<size_t>(x.number >> 32) - 1];
          const auto end = group.begin() + (x.number & 0xffffffff);
          covered = covered && std::all_of(group.begin(), end, [&](SourceId g) { return stable[static_cast<size_t>(g)]; });
          break;
        }
        case StepKind::kSame:
        case StepKind::kNotSame: covered = covered && stable[static_cast<size_t>(x.number)]; break;
        default: covered = false;
      }
      if (!covered) residual(i);
      continue;
    }
    const Source& s = p.sources[id];
    bool parent_stable = s.parent < 0 || stable[static_cast<size_t>(s.parent)];
    PyObject* parent = s.parent >= 0 ? c.values[static_cast<size_t>(s.parent)] : nullptr;
    bool parent_sure = s.parent < 0 || sure[static_cast<size_t>(s.parent)];
    bool is_stable = false, is_sure = false;
    switch (s.kind) {
      case SourceKind::kObject: is_stable = is_sure = true; break;
      case SourceKind::kSlot:
        if (static_cast<size_t>(s.index) < slot_total && !varies[static_cast<size_t>(s.index)] && !first) {
          is_stable = true;
          if (pinned.insert(s.index).second)
            items_.push_back({kPinnedSlot, static_cast<int32_t>(s.index), value, 0});
        }
        break;
      case SourceKind::kInstanceDict:
        if (parent_stable && _PyObject_GetDictPtr(parent)) {
          is_stable = true;
          items_.push_back({kDictOfOwner, s.parent, value, 0});
        }
        break;
      case SourceKind::kDictItem:
        // No two dicts ever have the same version, so the address says enough of the dict itself.
        if (parent_stable && PyDict_Check(parent)) {
          is_stable = is_sure = true;
          watch_dict(parent);
        }
        break;
      case SourceKind::kMethodSelf:
      case SourceKind::kMethodFunction:
      case SourceKind::kClosureCell: is_stable = is_sure = parent_stable && parent_sure; break;
      case SourceKind::kItem: is_stable = is_sure = parent_stable && parent_sure && PyTuple_Check(parent); break;
      default: break;
    }
    stable[id] = is_stable;
    sure[id] = is_sure;
    if (is_stable) values_[id] = value;
    else residual(i);
  }
}

bool Snapshot::check(GuardProgram& p, GuardContext& c) {
  if (slots_.size() != c.slot_count + 1) return false;
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
      case kDictOfOwner: {
        PyObject** place = _PyObject_GetDictPtr(c.values[static_cast<size_t>(x.index)]);
        if (!place || *place != x.object) return false;
        break;
      }
      case kDictVersion:
        if (version_of(x.object) != x.version) return false;
        break;
      case kTypeRecord:
        if (!p.types[static_cast<size_t>(x.index)].holds()) return false;
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
