// SPDX-License-Identifier: GPL-3.0-or-later
// What a root has compiled, as the target entry of core/protocol/README.md.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "core/diagnose/reasons.h"
#include "core/engine/extension/compiled_function.h"
#include "core/trace/inline_rules.h"

namespace breakline::engine {
namespace {

using segment::BreakRecord;
using segment::Root;
using segment::Segment;

/// A dict or list under construction; errors are fatal enough to throw.
struct Dict {
  py::Ref object = py::check(PyDict_New());
  Dict& put(const char* key, py::Ref v) {
    py::check_status(PyDict_SetItemString(object.get(), key, v.get()));
    return *this;
  }
  Dict& text(const char* key, std::string_view v) {
    return put(key, py::check(PyUnicode_DecodeUTF8(v.data(), static_cast<Py_ssize_t>(v.size()), "replace")));
  }
  Dict& number(const char* key, int64_t v) { return put(key, py::check(PyLong_FromLongLong(v))); }
  Dict& real(const char* key, double v) { return put(key, py::check(PyFloat_FromDouble(v))); }
  Dict& flag(const char* key, bool v) { return put(key, py::Ref::borrow(v ? Py_True : Py_False)); }
  Dict& none(const char* key) { return put(key, py::Ref::borrow(Py_None)); }
};
struct List {
  py::Ref object = py::check(PyList_New(0));
  void add(py::Ref v) { py::check_status(PyList_Append(object.get(), v.get())); }
};

std::string segment_id(const Segment& s) { return "s" + std::to_string(s.id); }

/// The frame reports name for a node: the innermost one in a user's file.
const graph::OriginFrame* place_of(const graph::Node& n) {
  if (!n.origin || n.origin->frames.empty()) return nullptr;
  for (auto it = n.origin->frames.rbegin(); it != n.origin->frames.rend(); ++it)
    if (trace::is_user_file(it->file)) return &*it;
  return &n.origin->frames.back();
}

/// Names for the sizes that are not the same in all instances of a segment. Those that are equal in all of them share a name;
/// the inputs' come first.
class OpenSizes {
 public:
  explicit OpenSizes(const Segment& s) : own_(*s.graph) {
    if (!s.shapes) return;
    for (const auto& instance : s.shapes->instances())
      if (instance->fits && instance->graph != s.graph) others_.push_back(instance->graph.get());
    for (const graph::ValueId id : own_.inputs)
      for (size_t d = 0; d < own_.values[static_cast<size_t>(id)].meta.sizes.size(); ++d) name(id, d);
  }
  /// "" where all are the same.
  std::string name(graph::ValueId id, size_t d) {
    std::vector<int64_t> seen = {own_.values[static_cast<size_t>(id)].meta.sizes[d]};
    bool differs = false;
    for (const graph::Graph* g : others_) {
      seen.push_back(g->values[static_cast<size_t>(id)].meta.sizes[d]);
      differs = differs || seen.back() != seen.front();
    }
    if (!differs) return "";
    return "s" + std::to_string(names_.try_emplace(std::move(seen), names_.size()).first->second);
  }

 private:
  const graph::Graph& own_;
  std::vector<const graph::Graph*> others_;
  std::map<std::vector<int64_t>, size_t> names_;
};

py::Ref shape_of(const graph::Graph& g, const graph::Node& n, OpenSizes& open, std::string* dtype) {
  List shape;
  for (graph::ValueId id : n.outputs) {
    if (id == graph::kNoValue) continue;
    const graph::TensorMeta& m = g.values[static_cast<size_t>(id)].meta;
    for (size_t d = 0; d < m.sizes.size(); ++d) {
      const std::string name = open.name(id, d);
      shape.add(py::check(name.empty() ? PyLong_FromLongLong(m.sizes[d]) : PyUnicode_FromString(name.c_str())));
    }
    *dtype = graph::dtype_name(m.dtype);
    break;
  }
  return shape.object;
}

py::Ref segment_entry(const Segment& s) {
  Dict d;
  d.text("id", segment_id(s)).text("site", "site" + std::to_string(s.site->id));
  static const std::vector<graph::KernelInfo> kNoKernels;
  const graph::PlanInfo* info = s.plan ? &s.plan->info() : nullptr;
  const auto& kernels = info ? info->kernels : kNoKernels;
  d.text("plan", info ? info->plan : "replay").text("plan_reason", info ? info->reason : "");
  d.number("kernels", static_cast<int64_t>(kernels.size())).number("runs", s.runs);
  d.text("file", s.file).number("line", s.line).number("end_line", s.end_line).text("function", s.function);
  // Ambient nodes are no ops, so kernels' node numbers are mapped to op numbers.
  std::vector<int64_t> op_of(s.graph->nodes.size(), -1);
  List ops;
  OpenSizes open(s);
  int64_t count = 0;
  for (size_t i = 0; i < s.graph->nodes.size(); ++i) {
    const graph::Node& n = s.graph->nodes[i];
    if (n.ambient) continue;
    op_of[i] = count++;
    Dict o;
    const graph::OriginFrame* f = place_of(n);
    std::string dtype;
    py::Ref shape = shape_of(*s.graph, n, open, &dtype);
    o.text("name", n.name).text("file", f ? f->file : "").number("line", f ? f->line : 0);
    o.number("column", f ? f->column : -1).put("shape", shape).text("dtype", dtype);
    o.text("module", n.origin ? n.origin->module : "").none("kernel");
    for (size_t k = 0; k < kernels.size(); ++k)
      if (std::find(kernels[k].nodes.begin(), kernels[k].nodes.end(), static_cast<int>(i)) != kernels[k].nodes.end())
        o.number("kernel", static_cast<int64_t>(k));
    ops.add(o.object);
  }
  d.put("ops", ops.object);
  List kernel_list;
  for (size_t k = 0; k < kernels.size(); ++k) {
    Dict e;
    List nodes;
    for (int n : kernels[k].nodes)
      if (n >= 0 && static_cast<size_t>(n) < op_of.size() && op_of[static_cast<size_t>(n)] >= 0)
        nodes.add(py::check(PyLong_FromLongLong(op_of[static_cast<size_t>(n)])));
    e.number("id", static_cast<int64_t>(k)).text("name", kernels[k].name).put("ops", nodes.object).text("device", kernels[k].device);
    if (const std::string source = kernels[k].text(); !source.empty()) e.text("source", source);
    kernel_list.add(e.object);
  }
  d.put("kernel_list", kernel_list.object);
  List ranges;
  for (const auto& r : s.ranges) {
    Dict e;
    e.text("file", r.file).number("line", r.line).number("end_line", r.end_line);
    ranges.add(e.object);
  }
  d.put("source_ranges", ranges.object);
  int64_t checks = 0;
  for (const guard::GuardStep& g : s.guards.steps) checks += g.kind != guard::StepKind::kFetch;
  d.number("guards", checks).real("trace_us", s.trace_us).real("compile_us", s.compile_us);
  const char* exit = s.exit == trace::ExitKind::kReturn ? "return"
                     : s.exit == trace::ExitKind::kBreak ? "break" : s.break_info.raises ? "raise" : "step";
  d.text("exit", exit);
  return d.object;
}

py::Ref break_entry(Root& root, const BreakRecord& b, int index, const std::vector<Segment*>& segments) {
  Dict d;
  const diagnose::Reason* reason = diagnose::find_reason(b.info.reason);
  std::vector<diagnose::Argument> arguments;
  for (const auto& [k, v] : b.info.arguments) arguments.emplace_back(k, v);
  diagnose::Rendered text;
  if (reason) text = diagnose::render(*reason, arguments);
  else text.type = b.info.reason;
  d.text("id", b.id).text("target", root.target_id).text("reason", b.info.reason);
  if (reason && !reason->gb_id.empty()) d.text("gb_id", reason->gb_id);
  else d.none("gb_id");
  d.text("type", text.type);
  const trace::PlaceFrame* p = b.info.place.empty() ? nullptr : &b.info.place.back();
  d.text("file", p ? p->file : "").number("line", p ? p->position.line : 0).number("column", p ? p->position.column : -1);
  d.number("end_line", p ? p->position.end_line : 0).number("end_column", p ? p->position.end_column : -1);
  List chain;
  for (const trace::PlaceFrame& f : b.info.place) {
    if (f.call) continue;
    Dict e;
    e.text("file", f.file).number("line", f.position.line).text("function", f.code_name);
    chain.add(e.object);
  }
  d.put("chain", chain.object).text("explanation", text.explanation);
  List hints;
  for (const std::string& h : text.hints) hints.add(py::check(PyUnicode_DecodeUTF8(h.data(), static_cast<Py_ssize_t>(h.size()), "replace")));
  d.put("hints", hints.object).text("context", text.context);
  Dict policy;
  policy.text("effective", b.policy.error ? "error" : "allow").text("source", b.policy.source);
  d.put("policy", policy.object).number("events", b.events);
  const Segment* before = nullptr;
  for (Segment* s : segments)
    if (s->break_index == index && !before) before = s;
  const Segment* after = nullptr;
  for (const segment::Edge& edge : root.edges)
    if (edge.break_index == index && !after)
      for (Segment* s : segments)
        if (s->id == edge.to) after = s;
  if (after) d.text("after", segment_id(*after));
  else d.none("after");
  if (before) d.text("before", segment_id(*before));
  else d.none("before");
  if (reason && !reason->knowledge.empty()) d.text("knowledge", reason->knowledge);
  else d.none("knowledge");
  return d.object;
}

int places_of(const Root& root) {
  std::set<std::string> places;
  for (const BreakRecord& b : root.breaks)
    if (!b.info.place.empty()) {
      const trace::PlaceFrame& p = b.info.place.back();
      places.insert(p.file + ":" + std::to_string(p.position.line) + ":" + std::to_string(p.position.column));
    }
  return static_cast<int>(places.size());
}

}  // namespace

PyObject* stats_of(Root& root) {
  return Py_BuildValue("{si,si,si,si,si,si}", "graphs", root.stats.graphs, "ops", root.stats.ops, "breaks", root.stats.breaks,
                       "places", places_of(root), "recompiles", root.stats.recompiles, "skipped", static_cast<int>(root.skipped.size()));
}

PyObject* report_of(Root& root) {
  try {
    std::vector<Segment*> segments = root.all_segments();
    Dict d;
    auto* f = reinterpret_cast<PyFunctionObject*>(root.function());
    auto* code = reinterpret_cast<PyCodeObject*>(f->func_code);
    d.text("name", root.name.empty() ? py::utf8(f->func_qualname) : std::string_view(root.name)).text("kind", "function");
    d.text("file", py::utf8(code->co_filename)).number("line", code->co_firstlineno).flag("fullgraph", root.fullgraph);
    d.number("graphs", root.stats.graphs).number("ops", root.stats.ops).number("breaks_traced", root.stats.breaks);
    d.number("places", places_of(root)).number("recompiles", root.stats.recompiles);
    d.number("skipped", static_cast<int64_t>(root.skipped.size()));
    List skipped;
    for (const auto& s : root.skipped) {
      Dict e;
      e.text("name", s.name).text("file", s.file).number("line", s.line).text("reason", s.reason);
      skipped.add(e.object);
    }
    d.put("skipped_frames", skipped.object);
    List list;
    for (Segment* s : segments) list.add(segment_entry(*s));
    // What is written within the program is put back after a recompile; what these do is seen outside, each time.
    constexpr std::array<std::string_view, 5> kOutside = {"print", "file-io", "logging", "warning", "operating-system"};
    const bool effects = std::any_of(root.breaks.begin(), root.breaks.end(), [&](const segment::BreakRecord& b) {
      return b.live && std::find(kOutside.begin(), kOutside.end(), b.info.reason) != kOutside.end();
    });
    d.put("segments", list.object);
    List edges;
    for (const segment::Edge& e : root.edges) {
      Dict x;
      x.text("from", "s" + std::to_string(e.from)).text("to", "s" + std::to_string(e.to));
      if (e.break_index >= 0) x.text("break", root.breaks[static_cast<size_t>(e.break_index)].id).text("kind", "break");
      else x.none("break").text("kind", "step");
      edges.add(x.object);
    }
    d.put("edges", edges.object);
    List breaks;
    for (size_t i = 0; i < root.breaks.size(); ++i) breaks.add(break_entry(root, root.breaks[i], static_cast<int>(i), segments));
    d.put("breaks", breaks.object);
    List regions;
    for (const auto& r : root.regions) {
      Dict e;
      e.text("key", r.key).text("kind", r.kind).text("file", r.file).number("line", r.line).number("end_line", r.end_line);
      e.text("qualname", r.qualname).text("declared", r.error ? "error" : "allow");
      regions.add(e.object);
    }
    d.put("regions", regions.object);
    d.flag("side_effects", effects).put("uncloneable", List().object).none("error");
    return d.object.release();
  } catch (py::PythonError&) {
    return nullptr;
  }
}

}  // namespace breakline::engine
