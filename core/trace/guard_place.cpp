// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/trace/guard_place.h"

#include <utility>

#include "core/base/flat_map.h"
#include "core/trace/value.h"

namespace breakline::trace {

using guard::StepKind;

namespace {

using Place = std::pair<const bytecode::Code*, int>;
struct PlaceHash {
  size_t operator()(const Place& p) const { return MixHash()(reinterpret_cast<uintptr_t>(p.first) + static_cast<uintptr_t>(p.second)); }
};
struct Places {
  FlatMap<Place, int32_t, PlaceHash> index;
  std::vector<Place> list;
  int32_t last = 0;
};
/// Of the process: an instruction has one number. With the GIL.
Places& places() {
  static auto* p = new Places;
  return *p;
}

/// A tensor's step has its record in `extra`, the others that tell calls apart have nothing there.
bool keeps_in_extra(StepKind kind) {
  return kind == StepKind::kEqual || kind == StepKind::kIdentity || kind == StepKind::kLength ||
         kind == StepKind::kDictLength || kind == StepKind::kDictKeys || kind == StepKind::kDictAbsent;
}

}  // namespace

void note_guard_place(guard::GuardStep& step, const SymFrame& frame) {
  const bool in_extra = keeps_in_extra(step.kind);
  if (!in_extra && step.kind != StepKind::kTensor) return;
  Places& p = places();
  const Place here(frame.code, frame.current);
  if (p.list.empty() || p.list[static_cast<size_t>(p.last)] != here) {  // guards come in rows
    const auto [number, fresh] = p.index.try_emplace(here, static_cast<int32_t>(p.list.size()));
    p.last = *number;
    if (fresh) p.list.push_back(here);
  }
  if (in_extra)
    step.extra = p.last;
  else
    step.number = p.last + 1;
}

std::string guard_place(const guard::GuardStep& step) {
  const int64_t at = keeps_in_extra(step.kind)        ? step.extra
                     : step.kind == StepKind::kTensor ? step.number - 1
                                                      : -1;
  if (at < 0 || static_cast<size_t>(at) >= places().list.size()) return "";
  const auto& [code, pc] = places().list[static_cast<size_t>(at)];
  const int line = code->position(pc).line;
  return line > 0 ? code->file.substr(code->file.rfind('/') + 1) + ":" + std::to_string(line) : "";
}

}  // namespace breakline::trace
