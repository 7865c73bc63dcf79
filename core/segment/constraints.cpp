// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/segment/constraints.h"

#include <algorithm>
#include <set>

#include "core/guard/marks.h"
#include "core/torch/tensor.h"

namespace breakline::segment {

using guard::SourceId;
using guard::SourceKind;

namespace {

ConstraintRaiser raiser = nullptr;

/// The place of a value as PyTorch's messages write it: L['x'], G['TABLE'][0], L['self'].cache.
std::string place_name(const Segment& s, SourceId id) {
  const guard::Source& x = s.guards.sources[static_cast<size_t>(id)];
  const auto parent = [&] { return x.parent >= 0 ? place_name(s, x.parent) : std::string(); };
  const auto kind_of = [&](SourceId i) { return i >= 0 ? s.guards.sources[static_cast<size_t>(i)].kind : SourceKind::kObject; };
  const auto name_of_key = [&] { return PyUnicode_Check(x.key.get()) ? py::to_string(x.key.get()) : py::repr(x.key.get(), 40); };
  switch (x.kind) {
    case SourceKind::kSlot: {
      int64_t at = x.index;
      for (const trace::EntryFrame& f : s.site->frames) {
        PyObject* names = f.code->code->co_localsplusnames;
        if (at < PyTuple_GET_SIZE(names)) return "L[" + py::repr(PyTuple_GET_ITEM(names, at), 60) + "]";
        at -= PyTuple_GET_SIZE(names) + f.stack;
      }
      return "L[" + std::to_string(x.index) + "]";
    }
    case SourceKind::kDictItem:
      if (kind_of(x.parent) == SourceKind::kInstanceDict) return parent() + "." + name_of_key();
      if (kind_of(x.parent) == SourceKind::kObject || kind_of(x.parent) == SourceKind::kGlobals)
        return "G[" + py::repr(x.key.get(), 60) + "]";
      return parent() + "[" + py::repr(x.key.get(), 60) + "]";
    case SourceKind::kItem: return parent() + "[" + std::to_string(x.index) + "]";
    case SourceKind::kAttribute: return parent() + "." + name_of_key();
    case SourceKind::kObject: return "G[" + py::repr(x.key.get(), 60) + "]";
    default: return parent();
  }
}

/// Whether the tensor is a parameter or buffer of a module: those keep their sizes whatever their marks say.
bool of_module(const Segment& s, SourceId id) {
  for (SourceId i = id; i >= 0; i = s.guards.sources[static_cast<size_t>(i)].parent) {
    const guard::Source& x = s.guards.sources[static_cast<size_t>(i)];
    if (x.kind == SourceKind::kDictItem && PyUnicode_Check(x.key.get()) &&
        (py::utf8(x.key.get()) == "_buffers" || py::utf8(x.key.get()) == "_parameters"))
      return true;
  }
  return false;
}

/// A size that is open in the segment.
struct OpenDim {
  SourceId source;
  size_t input, dim;  ///< index into the sizes tried
  int64_t size;
  bool marked = false;
  std::optional<guard::MarkedRange> range;
};

/// Tries other sizes for one segment.
class Prober {
 public:
  Prober(Segment& s, guard::GuardContext& c) : s_(s), c_(c), sizes_(s.shapes->open_sizes(s, c)) {}

  const std::vector<OpenShapes::Sizes>& sizes() const { return sizes_; }
  std::vector<OpenDim> dims;
  OpenShapes::Misfit first_misfit;

  /// Whether the segment serves some other size of `d`, others that hang together with it changing along.
  bool some_other_fits(const OpenDim& d) {
    const int64_t n = d.size;
    const int64_t candidates[] = {n + 1, n - 1, n + 2, 2 * n, n + 3, n - 2, n + 4, 3 * n, n + 6, 4 * n, n / 2, n + 8, 6 * n, 12 * n};
    for (const int64_t now : candidates)
      if (fits_with(d, now)) return true;
    // All sizes at once: x.shape[0] == y.shape[0] + 1 and the like.
    for (const int64_t by : {1, 2}) {
      auto moved = sizes_;
      for (const OpenDim& o : dims) moved[o.input].sizes[o.dim] += by;
      if (within_ranges(moved) && fits(moved)) return true;
    }
    return false;
  }

  /// Whether size `now` of `d` is served, the other open sizes staying or those of a multiple of its size changing in proportion.
  bool fits_with(const OpenDim& d, int64_t now) {
    if (now < 2 || now == d.size) return now == d.size;
    auto alone = sizes_;
    alone[d.input].sizes[d.dim] = now;
    if (within_ranges(alone) && fits(alone)) return true;
    auto along = sizes_;
    bool others = false;
    for (const OpenDim& o : dims) {
      if (o.size % d.size) continue;
      along[o.input].sizes[o.dim] = o.size / d.size * now;
      others = others || o.input != d.input || o.dim != d.dim;
    }
    return others && within_ranges(along) && fits(along);
  }

 private:
  bool within_ranges(const std::vector<OpenShapes::Sizes>& tried) const {
    return std::all_of(dims.begin(), dims.end(), [&](const OpenDim& o) {
      return !o.range || o.range->holds(tried[o.input].sizes[o.dim]);
    });
  }
  bool fits(const std::vector<OpenShapes::Sizes>& tried) {
    OpenShapes::Misfit misfit;
    const bool good = s_.shapes->would_fit(s_, c_, tried, misfit);
    if (!good && !first_misfit.known()) first_misfit = misfit;
    return good;
  }

  Segment& s_;
  guard::GuardContext& c_;
  std::vector<OpenShapes::Sizes> sizes_;
};

std::string bound_text(const std::optional<int64_t>& bound, const char* infinite) {
  return bound ? std::to_string(*bound) : infinite;
}

std::string range_text(const guard::MarkedRange& r, const std::string& name) {
  return (r.least ? std::to_string(*r.least) + " <= " : "") + name + (r.most ? " <= " + std::to_string(*r.most) : "");
}

std::string pinned_text(const std::string& name, int64_t size) {
  return "You marked " + name + " as dynamic but your code specialized it to be a constant (" + std::to_string(size) +
         "). If you're using mark_dynamic, either remove it or use maybe_mark_dynamic. If you're using Dim.DYNAMIC, replace it with "
         "either Dim.STATIC or Dim.AUTO.";
}

/// Sizes of a range that are worth a look: its ends, what is next to them and to the present size.
std::set<int64_t> sizes_to_try(const guard::MarkedRange& r, int64_t size) {
  constexpr int64_t kFar = 4096;
  const int64_t least = std::max<int64_t>(r.least.value_or(2), 2), most = r.most.value_or(std::max(size, least) + kFar);
  std::set<int64_t> found;
  for (const int64_t n : {least, least + 1, most - 1, most, size - 1, size + 1, size + 2, (least + most) / 2})
    if (n >= least && n <= most && n != size) found.insert(n);
  for (int64_t n = least; most - least <= 24 && n <= most; ++n)
    if (n != size) found.insert(n);
  return found;
}

}  // namespace

void set_constraint_raiser(ConstraintRaiser r) { raiser = r; }

bool keep_marks(Segment& s, guard::GuardContext& c) {
  if (!guard::marks_in_use()) return true;
  struct Marked {
    SourceId source;
    uint64_t dims;
    const guard::TensorRecord* record;
  };
  std::vector<Marked> marked;
  for (guard::GuardStep& step : s.guards.steps) {
    if (step.kind != guard::StepKind::kTensor) continue;
    guard::TensorRecord& record = s.guards.tensors[static_cast<size_t>(step.extra)];
    PyObject* tensor = c.values[static_cast<size_t>(step.source)];
    record.marked = tensor ? guard::marked_dims(tensor) : 0;
    if (record.marked && !of_module(s, step.source)) marked.push_back({step.source, record.marked, &record});
  }
  // PyTorch compiles nothing, and so pins nothing, where a comparison of sizes is all there is.
  const bool returns = s.exit == trace::ExitKind::kReturn && s.result >= 0;
  const resume::RecipeStep* result = returns ? &s.recipe.steps[static_cast<size_t>(s.result)] : nullptr;
  if (marked.empty() || (result && s.graph->nodes.empty() && result->object && PyBool_Check(result->object))) return true;

  std::vector<graph::OriginFrame> frames;
  const auto raise = [&](const std::string& message, bool out_of_range) {
    if (raiser) raiser(message, frames, out_of_range);
    else PyErr_SetString(PyExc_RuntimeError, message.c_str());
    return false;
  };
  for (const Marked& m : marked) {
    const std::vector<int64_t>& sizes = m.record->meta.sizes;
    for (const guard::MarkedRange& r : guard::marked_ranges(c.values[static_cast<size_t>(m.source)])) {
      if (r.dim >= static_cast<int>(sizes.size()) || r.holds(sizes[static_cast<size_t>(r.dim)])) continue;
      const auto& f = s.site->frames.back();
      frames.push_back({f.code->file, f.code->name, f.code->position(std::max(0, f.pc)).line});
      return raise(std::to_string(sizes[static_cast<size_t>(r.dim)]) + " not in range [" + bound_text(r.least, "-int_oo") + ", " +
                       bound_text(r.most, "int_oo") + "]",
                   true);
    }
  }

  std::string places, reasons;
  const auto violated = [&](const std::string& name, const std::string& reason) {
    places += (places.empty() ? "" : ", ") + name;
    reasons += "\n  - " + reason;
  };
  std::optional<Prober> prober;
  if (s.shapes) {
    prober.emplace(s, c);
    for (const guard::GuardStep& step : s.guards.steps) {
      if (step.kind != guard::StepKind::kTensor) continue;
      const guard::TensorRecord& record = s.guards.tensors[static_cast<size_t>(step.extra)];
      PyObject* tensor = c.values[static_cast<size_t>(step.source)];
      const auto at = std::find_if(prober->sizes().begin(), prober->sizes().end(),
                                   [&](const OpenShapes::Sizes& o) { return o.source == step.source; });
      if (!tensor || at == prober->sizes().end()) continue;
      const std::vector<guard::MarkedRange> ranges = guard::marked_ranges(tensor);
      for (size_t d = 0; d < record.open.size(); ++d) {
        if (!record.open[d]) continue;
        OpenDim dim{step.source, static_cast<size_t>(at - prober->sizes().begin()), d, at->sizes[d], d < 64 && (record.marked >> d & 1), {}};
        for (const guard::MarkedRange& r : ranges)
          if (r.dim == static_cast<int>(d)) dim.range = r;
        prober->dims.push_back(dim);
      }
    }
  }
  for (const Marked& m : marked) {
    // Sizes 0 and 1 are never open, which breaks a mark with bounds only.
    for (const guard::MarkedRange& r : guard::marked_ranges(c.values[static_cast<size_t>(m.source)])) {
      const std::vector<int64_t>& sizes = m.record->meta.sizes;
      if (r.dim >= static_cast<int>(sizes.size()) || sizes[static_cast<size_t>(r.dim)] > 1 || r.least == r.most) continue;
      const std::string name = place_name(s, m.source) + ".size()[" + std::to_string(r.dim) + "]";
      violated(name, pinned_text(name, sizes[static_cast<size_t>(r.dim)]));
    }
    if (!prober) continue;
    for (const OpenDim& d : prober->dims) {
      if (d.source != m.source || !d.marked || of_module(s, m.source)) continue;
      if (d.range && d.range->least == d.range->most) continue;
      const std::string name = place_name(s, d.source) + ".size()[" + std::to_string(d.dim) + "]";
      prober->first_misfit = {};
      if (!prober->some_other_fits(d)) {
        violated(name, pinned_text(name, d.size));
      } else if (d.range) {
        const std::set<int64_t> tried = sizes_to_try(*d.range, d.size);
        const auto bad = std::find_if(tried.begin(), tried.end(), [&](int64_t n) { return !prober->fits_with(d, n); });
        if (bad == tried.end()) continue;
        violated(name, "Not all values of " + name + " = " + name + " in the specified range " + range_text(*d.range, name) +
                           " satisfy the generated guard: the code takes another way for " + std::to_string(*bad) + ".");
      } else {
        continue;
      }
      if (frames.empty()) {
        frames = prober->first_misfit.frames;
        if (frames.empty() && !prober->first_misfit.place.empty()) {
          const std::string& at = prober->first_misfit.place;
          const size_t colon = at.rfind(':');
          const auto& f = s.site->frames.back();
          if (colon != std::string::npos)
            frames.push_back({at.substr(0, colon), f.code->file == at.substr(0, colon) ? f.code->name : "<unknown>", std::atoi(at.c_str() + colon + 1)});
        }
      }
    }
  }
  if (places.empty()) return true;
  return raise("Constraints violated (" + places + ")!" + reasons, false);
}

}  // namespace breakline::segment
