// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/segment/variation.h"

#include <set>
#include <string>
#include <unordered_map>

#include "core/guard/equality.h"
#include "core/segment/options.h"
#include "core/torch/tensor.h"
#include "core/trace/hints.h"

namespace breakline::segment {

using guard::StepKind;

namespace {

/// Runs `visit(program, step, path)` over all steps in which the present call differs from the variants that
/// could serve it.
template <class Visit>
void each_difference(Site& site, const resume::State& state, guard::GuardContext& context, Visit visit) {
  for (const auto& s : site.segments) {
    if (s->dead || s->with_handled != (state.handled != nullptr) ||
        (s->with_torch && !torch::ambient_matches(s->ambient)))
      continue;
    guard::GuardProgram& p = s->guards;
    if (p.check(context)) continue;
    for (const int step : p.differing(context)) {
      const guard::GuardStep& g = p.step(step);
      visit(
          p, step,
          guard::source_path(
              [&](guard::SourceId id) -> const guard::Source& { return p.sources[static_cast<size_t>(id)]; },
              g.source));
    }
  }
}

/// A number on a class that is another one now is read by each call from then on.
void note_changed_numbers(const guard::GuardProgram& p, const guard::GuardStep& g, trace::SiteHints& hints) {
  if (g.extra < 0 || static_cast<size_t>(g.extra) >= p.types.size()) return;
  const guard::TypeRecord& record = p.types[static_cast<size_t>(g.extra)];
  auto is_number = [](PyObject* o) { return o && (PyLong_CheckExact(o) || PyFloat_CheckExact(o)); };
  for (const auto& [name, expected] : record.lookups) {
    PyObject* now = py::type_lookup(reinterpret_cast<PyTypeObject*>(record.type.get()), name.get());
    if (now != expected.get() && is_number(now) && is_number(expected.get()))
      hints.dynamic.insert("class attribute " + std::string(py::utf8(name.get())));
  }
}

/// The hint for what a step asks of the object at `path`; empty where such a thing can't be left out.
std::string varying_hint(StepKind kind, const std::string& path) {
  switch (kind) {
    case StepKind::kEqual:
    case StepKind::kIdentity:
    case StepKind::kFunctionCode:
      return path;
    case StepKind::kDictKeys:
      return trace::keys_hint(path);
    case StepKind::kLength:
    case StepKind::kDictLength:
      return trace::length_hint(path);
    default:
      return "";
  }
}

bool asks_for_a_container(const guard::GuardStep& g) {
  if (g.kind == StepKind::kEqual) return g.object && PyTuple_Check(g.object.get());
  return g.kind == StepKind::kDictKeys || g.kind == StepKind::kDictLength || g.kind == StepKind::kLength;
}

}  // namespace

void note_changes(Root& root, Site& site, const resume::State& state, guard::GuardContext& context) {
  // Past a break, most often in a loop, so many variants for one thing mean that it is another one each time.
  constexpr int kMostOfOneThing = 5;
  const bool may_vary = &site != root.entry_site() && !root.compiled_strictly;
  std::unordered_map<std::string, int> differing, scalars;
  each_difference(site, state, context, [&](guard::GuardProgram& p, int step, const std::string& path) {
    const guard::GuardStep& g = p.step(step);
    if (g.kind == StepKind::kType || g.kind == StepKind::kTypeVersion) note_changed_numbers(p, g, site.hints);
    if (const std::string hint = may_vary ? varying_hint(g.kind, path) : "";
        !hint.empty() && ++differing[hint] >= kMostOfOneThing)
      site.hints.varying.insert(hint);
    PyObject* now = g.source >= 0 ? context.values[static_cast<size_t>(g.source)] : nullptr;
    // A scalar of numpy's that is not known is of less use than a number: two variants for the same one may be all there will be.
    constexpr int kFewScalars = 2;
    if (now && g.kind == StepKind::kEqual && guard::is_numpy_scalar_type(Py_TYPE(now)) && g.object && Py_TYPE(g.object.get()) == Py_TYPE(now) &&
        ++scalars[path] >= kFewScalars)
      site.hints.dynamic.insert(path);
    if (!now || !p.differs_by_size(context, step)) return;
    if (g.kind != StepKind::kTensor) {
      site.hints.dynamic.insert(path);
      return;
    }
    if (root.static_sizes) return;
    const torch::RawMeta m = torch::raw_meta(now);
    const std::vector<int64_t>& known = p.tensors[static_cast<size_t>(g.extra)].meta.sizes;
    for (size_t d = 0; d < known.size(); ++d)
      if (known[d] != m.sizes[d]) site.hints.dynamic.insert(trace::size_hint(path, d));
  });
}

bool leave_out_at_entry(Root& root, Site& site, const resume::State& state, guard::GuardContext& context) {
  constexpr size_t kMost = 16;  // containers, so that this ends
  const bool own_choice = root.recompile_limit || options().recompile_limit != kRecompileLimit;
  if (&site != root.entry_site() || own_choice || root.compiled_strictly) return false;
  std::set<std::string> containers;
  each_difference(site, state, context, [&](guard::GuardProgram& p, int step, const std::string& path) {
    const guard::GuardStep& g = p.step(step);
    if (asks_for_a_container(g)) containers.insert(varying_hint(g.kind, path));
  });
  bool more = false;
  for (const std::string& hint : containers)
    if (site.hints.varying.size() < kMost && site.hints.varying.insert(hint).second) more = true;
  return more;
}

}  // namespace breakline::segment
