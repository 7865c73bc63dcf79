// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/segment/shapes.h"

#include <algorithm>
#include <cstring>

#include "core/guard/equality.h"
#include "core/segment/root.h"
#include "core/torch/arg_object.h"
#include "core/torch/tensor.h"
#include "core/trace/guard_place.h"

namespace breakline::segment {

using graph::Arg;
using guard::GuardContext;
using guard::SourceId;
using torch::Inferred;

namespace {

/// Puts the process into the ambient states of a trace, and back at the end.
class AmbientWalk {
 public:
  explicit AmbientWalk(const std::vector<torch::Ambient>& states) : states_(states) {}
  ~AmbientWalk() {
    if (now_) torch::restore_ambient(states_[0]);
  }
  AmbientWalk(const AmbientWalk&) = delete;
  /// False when the state can't be had.
  bool enter(size_t index) {
    if (index == now_) return true;
    now_ = index;
    torch::restore_ambient(states_[index]);
    return torch::ambient_matches(states_[index]);
  }

 private:
  const std::vector<torch::Ambient>& states_;
  size_t now_ = 0;
};

/// Strides of a tensor laid out as `before` is, for other sizes: where each size fills what the next larger stride jumps over,
/// it does so again; gaps stay.
void follow_strides(const OpenShapes::Sizes& before, OpenShapes::Sizes& now) {
  const size_t rank = before.sizes.size();
  std::vector<size_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return before.strides[a] < before.strides[b]; });
  for (size_t i = 1; i < rank; ++i) {
    const size_t d = order[i], inner = order[i - 1];
    const int64_t filled = before.strides[inner] * before.sizes[inner];
    if (filled > 0 && before.strides[d] % filled == 0) now.strides[d] = before.strides[d] / filled * now.strides[inner] * now.sizes[inner];
  }
}

bool same_kind(const graph::TensorMeta& a, const graph::TensorMeta& b) {
  return a.dtype == b.dtype && a.device == b.device && a.requires_grad == b.requires_grad &&
         a.is_leaf == b.is_leaf && a.plain == b.plain && a.sizes.size() == b.sizes.size();
}

bool same_object(const py::Ref& a, const py::Ref& b) {
  if (a.get() == b.get()) return true;
  return a && b && guard::is_plain_constant(a.get()) && guard::is_plain_constant(b.get()) &&
         guard::same_constant(a.get(), b.get());
}

/// Whether the trace would have gone on the same way from either answer.
bool same_answer(const Inferred& a, const Inferred& b) {
  if (a.structure != b.structure || a.outs.size() != b.outs.size() || a.named_tuple != b.named_tuple ||
      a.written != b.written || a.written_meta.size() != b.written_meta.size() ||
      a.non_tensors.size() != b.non_tensors.size() || !same_object(a.constant, b.constant))
    return false;
  for (size_t i = 0; i < a.outs.size(); ++i) {
    const graph::ShapeOut &x = a.outs[i], &y = b.outs[i];
    if (x.alias_value != y.alias_value || x.same_value != y.same_value || !same_kind(x.meta, y.meta))
      return false;
  }
  for (size_t i = 0; i < a.non_tensors.size(); ++i)
    if (!same_object(a.non_tensors[i], b.non_tensors[i])) return false;
  for (size_t i = 0; i < a.written_meta.size(); ++i)
    if (!same_kind(a.written_meta[i], b.written_meta[i])) return false;
  return true;
}

/// Replaces the constant at `path`; the objects of the sequences around it are dropped, for they held the old
/// one.
bool patch(std::vector<Arg>& args, std::vector<std::pair<std::string, Arg>>& kwargs, const trace::ArgPatch& p,
           PyObject* now) {
  const int32_t first = p.path[0];
  Arg* at = first >= 0 ? &args[static_cast<size_t>(first)] : &kwargs[static_cast<size_t>(-1 - first)].second;
  for (size_t i = 1; i < p.path.size(); ++i) {
    at->object = nullptr;
    auto* seq = std::get_if<graph::ArgSeq>(&at->v);
    if (!seq) return false;
    at = &seq->items[static_cast<size_t>(p.path[i])];
  }
  at->object = now;
  if (PyFloat_CheckExact(now)) {
    at->v = PyFloat_AS_DOUBLE(now);
    return true;
  }
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(now, &overflow);
  if (overflow) return false;
  at->v = static_cast<int64_t>(number);
  return true;
}

/// Gives sequences of constants without an object a new one.
bool complete(Arg& a, std::vector<py::Ref>& kept) {
  if (a.object || !a.seq()) return true;
  auto& seq = std::get<graph::ArgSeq>(a.v);
  for (Arg& i : seq.items)
    if (!complete(i, kept)) return false;
  if (torch::holds_value(a)) return true;
  kept.push_back(py::Ref::steal(torch::object_of(a, {})));
  a.object = kept.back().get();
  return a.object != nullptr;
}

std::vector<bool> zero_strides(const graph::Graph& g, const graph::Node& n) {
  std::vector<bool> zero;
  const auto note = [&](graph::ValueId id) {
    const graph::Value& v = g.values[static_cast<size_t>(id)];
    zero.push_back(std::find(v.meta.strides.begin(), v.meta.strides.end(), 0) != v.meta.strides.end());
  };
  for (const Arg& a : n.args) torch::visit_values(a, note);
  for (const auto& [name, a] : n.kwargs) torch::visit_values(a, note);
  return zero;
}

}  // namespace

bool OpenShapes::make_key(const Segment& s, GuardContext& c) {
  key_.clear();
  for (const int32_t i : log_.inputs) {
    const torch::RawMeta m = torch::raw_meta(c.values[static_cast<size_t>(s.inputs[static_cast<size_t>(i)])]);
    key_.insert(key_.end(), m.sizes, m.sizes + m.rank);
    key_.insert(key_.end(), m.strides, m.strides + m.rank);
  }
  for (const guard::SourceId id : s.guards.shape_roots) {
    PyObject* o = c.values[static_cast<size_t>(id)];
    if (!o) return false;
    if (PyFloat_CheckExact(o)) {
      const double d = PyFloat_AS_DOUBLE(o);
      int64_t bits;
      std::memcpy(&bits, &d, sizeof bits);
      key_.push_back(bits);
      continue;
    }
    int overflow = 0;
    if (!PyLong_CheckExact(o)) return false;
    key_.push_back(PyLong_AsLongLongAndOverflow(o, &overflow));
    if (overflow) return false;
  }
  return true;
}

std::shared_ptr<Instance> OpenShapes::known() {
  for (size_t i = 0; i < instances_.size(); ++i) {
    if (instances_[i]->key != key_) continue;
    const auto begin = instances_.begin(), at = begin + static_cast<std::ptrdiff_t>(i);
    if (i) std::rotate(begin, at, at + 1);
    return instances_.front();
  }
  return nullptr;
}

std::shared_ptr<Instance> OpenShapes::find(const Segment& s, GuardContext& c) {
  if (!make_key(s, c)) return nullptr;
  std::shared_ptr<Instance> found = known();
  if (!found) return nullptr;
  if (!found->final_plan && found->used) return nullptr;  // worth a better one
  found->used = true;
  for (const auto& [id, object] : found->values) c.values[static_cast<size_t>(id)] = object.get();
  return found;
}

bool OpenShapes::prepare(Root& root, Segment& s, GuardContext& c) {
  if (!make_key(s, c)) return false;
  if (std::shared_ptr<Instance> found = known()) {
    found->final_plan = true;
    if (auto better = make_plan(root, found->graph, false)) {
      found->quick_plan = std::move(found->own_plan);
      found->own_plan = std::move(better);
      found->plan = found->own_plan.get();
    }
    return true;
  }
  std::vector<int64_t> key = key_;
  std::shared_ptr<Instance> made = make(root, s, c);
  made->key = std::move(key);
  if (instances_.size() >= kMost) instances_.pop_back();
  instances_.insert(instances_.begin(), std::move(made));
  return true;
}

std::shared_ptr<Instance> OpenShapes::make(Root& root, Segment& s, GuardContext& c) {
  auto instance = std::make_shared<Instance>();
  std::shared_ptr<const graph::Graph> use = s.graph;
  const bool first = !first_made_;
  first_made_ = true;
  // Python code may run meanwhile, and other threads: what is read from the state is read or held now.
  for (const guard::SourceId id : s.guards.shape_roots)
    c.owned.push_back(py::Ref::borrow(c.values[static_cast<size_t>(id)]));
  try {
    if (first) {  // the call that was traced
      s.guards.begin_shapes(c, s.graph.get());
    } else {
      auto g = std::make_shared<graph::Graph>(*s.graph);
      use = g;
      s.guards.begin_shapes(c, g.get());
      for (const guard::SourceId id : s.guards.shape_sources)
        if (s.guards.sources[static_cast<size_t>(id)].kind == guard::SourceKind::kTensorSize)
          s.guards.shape_value(id, c);
      if (!infer_all(*g, *s.graph, s, c, *instance, open_sizes(s, c))) {
        PyErr_Clear();
        return instance;
      }
    }
    if (!s.guards.check_shapes(c)) {
      instance->failed_step = c.failed_step;
      PyErr_Clear();
      return instance;
    }
    for (const guard::SourceId id : s.guards.shape_sources) {
      PyObject* value = s.guards.shape_value(id, c);
      if (!value) {
        PyErr_Clear();
        return instance;
      }
      instance->values.emplace_back(id, py::Ref::borrow(value));
    }
  } catch (py::PythonError&) {
    PyErr_Clear();
    return instance;
  }
  instance->graph = use;
  instance->restoration = first ? s.restoration : plan_restoration(*use, s.inputs);
  if (first) {
    instance->plan = s.plan.get();
  } else if (!use->nodes.empty()) {
    // Sizes that come only once are not worth a compiler's time.
    instance->final_plan = !s.plan || s.plan->info().plan != "cpu";
    instance->own_plan = make_plan(root, use, !instance->final_plan);
    instance->plan = instance->own_plan.get();
  }
  instance->fits = true;
  return instance;
}

std::vector<OpenShapes::Sizes> OpenShapes::open_sizes(const Segment& s, GuardContext& c) const {
  std::vector<Sizes> all;
  for (const int32_t i : log_.inputs) {
    const SourceId source = s.inputs[static_cast<size_t>(i)];
    const torch::RawMeta m = torch::raw_meta(c.values[static_cast<size_t>(source)]);
    all.push_back({source, {m.sizes, m.sizes + m.rank}, {m.strides, m.strides + m.rank}});
  }
  return all;
}

bool OpenShapes::would_fit(Segment& s, GuardContext& c, const std::vector<Sizes>& sizes, Misfit& misfit) {
  std::vector<Sizes> now = sizes;
  const std::vector<Sizes> present = open_sizes(s, c);
  for (size_t i = 0; i < now.size(); ++i) follow_strides(present[i], now[i]);
  Instance scratch;
  graph::Graph g = *s.graph;
  bool good = false;
  try {
    s.guards.begin_shapes(c, &g);
    for (const SourceId id : s.guards.shape_sources) {
      const guard::Source& x = s.guards.sources[static_cast<size_t>(id)];
      if (x.kind != guard::SourceKind::kTensorSize) continue;
      const auto at = std::find_if(now.begin(), now.end(), [&](const Sizes& o) { return o.source == x.parent; });
      if (at == now.end()) {
        s.guards.shape_value(id, c);
        continue;
      }
      c.owned.push_back(py::check(PyLong_FromLongLong(at->sizes[static_cast<size_t>(x.index)])));
      c.values[static_cast<size_t>(id)] = c.owned.back().get();
    }
    good = infer_all(g, *s.graph, s, c, scratch, now);
    if (!good) {
      if (failed_record_ && failed_record_->node >= 0 && s.graph->nodes[static_cast<size_t>(failed_record_->node)].origin)
        misfit.frames = s.graph->nodes[static_cast<size_t>(failed_record_->node)].origin->frames;
    } else if (!s.guards.check_shapes(c)) {
      good = false;
      misfit.place = trace::guard_place(s.guards.step(c.failed_step));
    }
  } catch (py::PythonError&) {
    good = false;
  }
  PyErr_Clear();
  c.shapes = nullptr;  // the graph was ours
  return good;
}

bool OpenShapes::infer_all(graph::Graph& g, const graph::Graph& traced, Segment& s, GuardContext& c,
                           Instance& instance, const std::vector<Sizes>& sizes) {
  failed_record_ = nullptr;
  for (size_t i = 0; i < sizes.size(); ++i) {
    graph::TensorMeta& meta = g.values[static_cast<size_t>(g.inputs[static_cast<size_t>(log_.inputs[i])])].meta;
    meta.sizes = sizes[i].sizes;
    meta.strides = sizes[i].strides;
  }
  AmbientWalk walk(log_.ambients);
  for (const trace::ShapeRecord& r : log_.records) {
    failed_record_ = &r;
    if (!walk.enter(r.ambient)) return false;
    graph::Node question;
    graph::Node& node = r.node >= 0 ? g.nodes[static_cast<size_t>(r.node)] : question;
    if (r.node < 0) {
      question.args = r.args;
      question.kwargs = r.kwargs;
    }
    for (const trace::ArgPatch& p : r.patches) {
      PyObject* now = s.guards.shape_value(p.source, c);
      if (!now || !patch(node.args, node.kwargs, p, now)) return false;
      instance.constants.push_back(py::Ref::borrow(now));
    }
    if (!r.patches.empty()) {
      for (Arg& a : node.args)
        if (!complete(a, instance.constants)) return false;
      for (auto& [name, a] : node.kwargs)
        if (!complete(a, instance.constants)) return false;
    }
    auto answer =
        torch::infer(g, r.callable, torch::callable_info(r.callable), node.args, node.kwargs, r.grad_mode);
    const auto* now = std::get_if<Inferred>(&answer);
    if (!now || !same_answer(*now, r.answer)) return false;
    for (size_t i = 0; i < now->outs.size() && i < node.outputs.size(); ++i) {
      if (node.outputs[i] == graph::kNoValue) continue;
      graph::TensorMeta& known = g.values[static_cast<size_t>(node.outputs[i])].meta;
      if (!now->outs[i].same_value)
        known = now->outs[i].meta;
      else if (known.sizes != now->outs[i].meta.sizes || known.strides != now->outs[i].meta.strides)
        return false;
    }
  }
  failed_record_ = nullptr;
  for (const auto& [id, offset] : log_.offsets)
    if (g.values[static_cast<size_t>(id)].meta.storage_offset != offset) return false;
  for (size_t i = 0; i < g.nodes.size(); ++i)
    if (g.nodes[i].mutates && zero_strides(g, g.nodes[i]) != zero_strides(traced, traced.nodes[i]))
      return false;
  return true;
}

}  // namespace breakline::segment
