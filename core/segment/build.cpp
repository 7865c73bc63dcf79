// SPDX-License-Identifier: GPL-3.0-or-later
// From a trace to a segment.
#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <tuple>

#include "core/segment/machine.h"
#include "core/segment/options.h"
#include "core/torch/arg_object.h"
#include "core/torch/tensor.h"

namespace breakline::segment {

namespace {

ErrorRaiser raiser = nullptr;

double now_us() {
  using namespace std::chrono;
  return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

/// Writes that PyTorch refuses at run time whatever the shapes: overlapping memory, leaves that need grad.
bool write_may_fail(const graph::Graph& g, const graph::Node& n) {
  if (!n.mutates) return false;
  std::vector<graph::ValueId> seen;
  bool risky = false;
  auto note = [&](graph::ValueId id) {
    const graph::Value& v = g.values[static_cast<size_t>(id)];
    if (v.is_scalar) return;
    risky = risky || v.meta.requires_grad;
    for (int64_t stride : v.meta.strides) risky = risky || stride == 0;
    for (graph::ValueId other : seen) risky = risky || (other != id && g.values[static_cast<size_t>(other)].storage == v.storage);
    seen.push_back(id);
  };
  for (const graph::Arg& a : n.args) torch::visit_values(a, note);
  for (const auto& [name, a] : n.kwargs) torch::visit_values(a, note);
  return risky;
}

}  // namespace

Restoration plan_restoration(const graph::Graph& g, const std::vector<guard::SourceId>& inputs) {
  Restoration r;
  int last_failing = -1;
  for (size_t i = 0; i < g.nodes.size(); ++i)
    if (g.nodes[i].may_fail || write_may_fail(g, g.nodes[i])) last_failing = static_cast<int>(i);
  if (last_failing < 0) return r;
  for (int i = 0; i < last_failing; ++i) {
    const graph::Node& n = g.nodes[static_cast<size_t>(i)];
    if (n.random) r.rng = true;
    if (!n.mutates) continue;
    auto note = [&](graph::ValueId id) {
      int32_t storage = g.values[static_cast<size_t>(id)].storage;
      for (size_t k = 0; k < g.inputs.size(); ++k) {
        const graph::Value& v = g.values[static_cast<size_t>(g.inputs[k])];
        if (v.is_scalar || v.storage != storage) continue;
        if (std::find(r.mutated_inputs.begin(), r.mutated_inputs.end(), inputs[k]) == r.mutated_inputs.end())
          r.mutated_inputs.push_back(inputs[k]);
      }
    };
    for (const graph::Arg& a : n.args) torch::visit_values(a, note);
    for (const auto& [name, a] : n.kwargs) torch::visit_values(a, note);
  }
  return r;
}

std::unique_ptr<graph::Plan> make_plan(const Root& root, std::shared_ptr<const graph::Graph> g, bool quick) {
  if (g->nodes.empty()) return nullptr;
  std::string reason;
  std::string device = root.device;
  if (root.plan == "replay") {
    device = "replay";
    reason = "asked for";
  } else if (quick) {
    device = "replay";
    reason = "sizes seen once";
  } else if (!g->regions.empty()) {
    device = "replay";
    reason = g->regions.front().kind == graph::Region::kCheckpoint ? "activation checkpoint" : "torch.cond";
  } else if (g->in_order) {
    device = "replay";
    reason = "writes beside numpy's arrays";
  } else if (g->needs_grad) {
    device = "replay";
    reason = "parameters need grad";
  }
  graph::PlanMaker maker = graph::find_plan_maker(device);
  if (!maker) {
    if (device != "replay") reason = "no compiler for device " + device;
    maker = graph::find_plan_maker("replay");
  }
  return maker ? maker(std::move(g), reason) : nullptr;
}

namespace {

void describe(Segment& s, const trace::Tracer& t) {
  const trace::EntryFrame* top = s.site->frames.empty() ? nullptr : &s.site->frames.back();
  if (top) {
    s.file = top->code->file;
    s.function = top->code->qualname;
    s.line = s.end_line = top->code->position(top->pc).line;
  }
  s.codes = t.code_objects();
  for (const auto& [code, lines] : t.line_ranges()) {
    s.ranges.push_back({code->file, lines.first, lines.second});
    if (top && code == top->code) {
      s.line = lines.first;
      s.end_line = lines.second;
    }
  }
  std::sort(s.ranges.begin(), s.ranges.end(), [](const SourceRange& a, const SourceRange& b) {
    return std::tie(a.file, a.line, a.end_line) < std::tie(b.file, b.line, b.end_line);
  });
}

}  // namespace

void set_error_raiser(ErrorRaiser r) { raiser = r; }

void raise_break(Root& root, const trace::BreakInfo& info, const policy::Resolution& resolution, int index) {
  if (raiser) raiser(root, info, resolution, root.breaks[static_cast<size_t>(index)].id);
  else PyErr_SetString(PyExc_RuntimeError, info.reason.c_str());
}

namespace {

/// The policy at a break, but for places that are no error to PyTorch either: those are always allowed, or under fullgraph alone.
policy::Resolution resolve_break(const Root& root, const trace::BreakInfo& info, bool ambient) {
  policy::Resolution r = policy::resolve(*overlays(), root.target_id, info.views, root.fullgraph, ambient);
  const bool tolerated = info.tolerance == trace::Tolerance::kAlways || (info.tolerance == trace::Tolerance::kFullgraph && root.fullgraph);
  if (r.error && tolerated) return {false, "value-read"};
  return r;
}

}  // namespace

bool policy_allows(Root& root, Segment& s, bool ambient) {
  if (s.exit != trace::ExitKind::kBreak) return true;
  uint64_t generation = overlay_generation();
  if (s.policy_generation == generation && s.policy_ambient == ambient && s.policy_fullgraph == root.fullgraph) return true;
  if (options().fault == Fault::kStaleSegment) return true;
  policy::Resolution r = resolve_break(root, s.break_info, ambient);
  BreakRecord& record = root.breaks[static_cast<size_t>(s.break_index)];
  record.policy = r;
  if (r.error) {
    raise_break(root, s.break_info, r, s.break_index);
    return false;
  }
  s.policy_generation = generation;
  s.policy_ambient = ambient;
  s.policy_fullgraph = root.fullgraph;
  return true;
}

Segment* build_segment(Root& root, Site& site, const resume::State& state, bool ambient) {
  double start = now_us();
  auto s = std::make_unique<Segment>();
  root.compiled_strictly = root.fullgraph || ambient;
  s->site = &site;
  if (options().fault == Fault::kInternal) throw std::runtime_error("injected");
  trace::Options trace_options = options().trace;
  trace_options.root_fullgraph = root.fullgraph;
  trace_options.open_sizes = root.open_sizes;
  trace::Tracer t(trace_options, site.hints, root.target_id);
  t.trace(site.frames, state.slots.data(), state.slots.size(), state.handled);
  s->exit = t.exit_kind();
  s->break_info = t.break_info();
  for (const auto& r : t.regions()) root.add_region(r);
  if (s->exit != trace::ExitKind::kReturn) {
    policy::Resolution r = policy::resolve(*overlays(), root.target_id, s->break_info.views,
                                           s->exit == trace::ExitKind::kBreak && root.fullgraph, ambient);
    s->region = r.error && r.source != "fullgraph";
    if (s->exit == trace::ExitKind::kBreak) {
      r = resolve_break(root, s->break_info, ambient);
      s->break_index = root.break_index(s->break_info);
      root.breaks[static_cast<size_t>(s->break_index)].policy = r;
      if (r.error) {
        raise_break(root, s->break_info, r, s->break_index);
        return nullptr;
      }
      bool skips = s->break_info.reason == "skip-frame";
      s->gives_up = skips && t.frames().size() == 1 && s->break_info.place.size() == 1;
      s->plain_rest = (skips && s->break_info.place.size() == t.frames().size()) || s->break_info.reason == "step-unsupported";
    }
  }
  resume::RecipeBuilder builder(t, s->recipe);
  if (s->exit == trace::ExitKind::kReturn) {
    s->result = builder.emit(t.return_value());
  } else {
    for (const auto& f : t.frames()) {
      ExitFrame e;
      e.entry.code = f->code;
      e.kept = f->entered_at == 0;
      e.entry.globals = f->globals;
      e.entry.builtins = f->builtins;
      e.entry.locals = f->locals;
      e.entry.pc = f->pc;
      e.entry.stack = static_cast<int>(f->stack.size());
      e.entry.on_return = f->on_return;
      e.entry.compile_root = f->compile_root;
      e.entry.resumed_line = f->code->position(f->current).line;
      if (f->function && f->function->kind == trace::Kind::kConstant) e.entry.function = f->function->object;
      else if (f->function) e.function_step = builder.emit(f->function);
      for (const auto* values : {&f->locals_, &f->stack})
        for (trace::Value* v : *values) {
          if (v && v->unbacked && root.fullgraph) s->unbacked.push_back(static_cast<int32_t>(s->slots.size()));
          s->slots.push_back(builder.emit(v));
        }
      s->frames.push_back(std::move(e));
    }
    s->handled = builder.emit(t.handled());
    if (s->break_info.limit) {
      const auto& top = *t.frames().back();
      const bytecode::Instr& in = top.code->instrs[static_cast<size_t>(top.pc)];
      if (in.target >= 0 && in.target <= top.pc) {
        s->stretch = true;
        s->loop_start = in.target;
        s->loop_end = top.pc;
      } else {
        site.executor = true;
      }
    }
  }
  s->reads = root.fullgraph && s->exit == trace::ExitKind::kBreak && s->break_info.reads;
  s->effects.build(t, builder);
  s->recipe.arrange();
  s->effects.split(s->recipe);
  s->with_torch = torch::available();
  s->with_handled = state.handled != nullptr;
  s->ambient = t.entry_ambient();
  s->graph = t.graph();
  s->inputs = t.input_sources();
  for (const graph::Node& n : s->graph->nodes) s->ops += n.ambient ? 0 : 1;
  s->restoration = plan_restoration(*s->graph, s->inputs);
  describe(*s, t);
  trace::ShapeLog log = t.take_shape_log();
  s->guards = t.take_guards();
  if (log.open) {
    std::vector<guard::SourceId> used;
    for (const trace::ShapeRecord& r : log.records)
      for (const trace::ArgPatch& p : r.patches) used.push_back(p.source);
    s->guards.split_shapes(used);
    s->shapes = std::make_unique<OpenShapes>(std::move(log));
  }
  s->constants = t.take_constants();
  if (options().fault == Fault::kDropGuard) s->guards.drop_one_check();
  if (options().fault == Fault::kSwapEffects) s->effects.swap_first_two();
  s->trace_us = now_us() - start;
  const double traced = now_us();
  s->plan = make_plan(root, s->graph, false);
  s->compile_us = now_us() - traced;
  s->policy_generation = overlay_generation();
  s->policy_ambient = ambient;
  s->policy_fullgraph = root.fullgraph;
  s->id = root.next_segment++;
  if (s->ops) {
    ++root.stats.graphs;
    root.stats.ops += s->ops;
    ++coverage().segments_with_ops;
  }
  if (s->exit == trace::ExitKind::kBreak) ++root.stats.breaks;
  if (!site.segments.empty()) ++root.stats.recompiles;
  ++coverage().segments;
  coverage().ops_symbolic += t.instructions();
  ++site.made;
  site.segments.insert(site.segments.begin(), std::move(s));
  return site.segments.front().get();
}

void drop_segment(Root& root, Site& site, const Segment* s) {
  if (s->ops) {
    --root.stats.graphs;
    root.stats.ops -= s->ops;
    --coverage().segments_with_ops;
  }
  if (s->exit == trace::ExitKind::kBreak) --root.stats.breaks;
  if (site.segments.size() > 1) --root.stats.recompiles;
  --coverage().segments;
  --site.made;
  std::erase_if(site.segments, [&](const auto& made) { return made.get() == s; });
}

}  // namespace breakline::segment
