// SPDX-License-Identifier: GPL-3.0-or-later
// Stable text of a graph: no addresses, ids in program order.
#include <charconv>
#include <cstdio>

#include "core/graph/graph.h"

namespace breakline::graph {
namespace {

void put_dims(std::string& out, const std::vector<int64_t>& dims) {
  out += '[';
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i) out += ", ";
    out += std::to_string(dims[i]);
  }
  out += ']';
}

void put_meta(std::string& out, const TensorMeta& m) {
  out += dtype_name(m.dtype);
  put_dims(out, m.sizes);
  if (m.strides != contiguous_strides(m.sizes)) {
    out += " strides ";
    put_dims(out, m.strides);
  }
  if (m.storage_offset) out += " offset " + std::to_string(m.storage_offset);
  if (m.device == DeviceKind::kMeta) out += " meta";
  if (m.device == DeviceKind::kCuda) out += " cuda";
  if (m.requires_grad) out += m.is_leaf ? " grad leaf" : " grad";
  if (!m.plain) out += " not-plain";
}

void put_arg(std::string& out, const Arg& a);

struct ArgPrinter {
  std::string& out;
  void operator()(std::monostate) const { out += "None"; }
  void operator()(Value_ v) const { out += '%' + std::to_string(v.id); }
  void operator()(bool b) const { out += b ? "True" : "False"; }
  void operator()(int64_t i) const { out += std::to_string(i); }
  void operator()(double d) const {
    char text[40];
    const auto end = std::to_chars(text, text + sizeof text, d).ptr;
    std::string_view s(text, static_cast<size_t>(end - text));
    out += s;
    if (s.find_first_of(".einf") == std::string_view::npos) out += ".0";
  }
  void operator()(const std::string& s) const {
    out += '\'';
    for (char c : s) {
      if (c == '\'' || c == '\\') out += '\\';
      if (c == '\n') {
        out += "\\n";
      } else {
        out += c;
      }
    }
    out += '\'';
  }
  void operator()(const DTypeArg& d) const { out += dtype_name(d.dtype); }
  void operator()(const ArgSeq& seq) const {
    static constexpr const char* kOpen[] = {"(", "[", "slice("};
    out += kOpen[seq.kind];
    for (size_t i = 0; i < seq.items.size(); ++i) {
      if (i) out += ", ";
      put_arg(out, seq.items[i]);
    }
    if (seq.kind == ArgSeq::kTuple && seq.items.size() == 1) out += ',';
    out += seq.kind == ArgSeq::kList ? ']' : ')';
  }
  void operator()(const Opaque&) const { out += "<object>"; }
};

void put_arg(std::string& out, const Arg& a) { std::visit(ArgPrinter{out}, a.v); }

void put_value(std::string& out, const Graph& g, ValueId id) {
  if (id == kNoValue) {
    out += '_';
    return;
  }
  const Value& v = g.values[static_cast<size_t>(id)];
  out += '%' + std::to_string(id) + ": ";
  if (v.is_scalar) out += "scalar ";
  put_meta(out, v.meta);
  if (v.storage >= 0) out += " @" + std::to_string(v.storage);
}

}  // namespace

std::string print(const Graph& graph) {
  std::string out = "graph(";
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (i) out += ", ";
    put_value(out, graph, graph.inputs[i]);
  }
  out += ')';
  if (!graph.grad_mode) out += " no_grad";
  if (graph.inference_mode) out += " inference";
  if (graph.needs_grad) out += " needs_grad";
  out += '\n';
  for (const Node& n : graph.nodes) {
    out += "  ";
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      if (i) out += ", ";
      put_value(out, graph, n.outputs[i]);
    }
    if (!n.outputs.empty()) out += n.multi ? " = *" : " = ";
    out += n.name;
    out += '(';
    bool first = true;
    for (const Arg& a : n.args) {
      if (!first) out += ", ";
      first = false;
      put_arg(out, a);
    }
    for (const auto& [name, a] : n.kwargs) {
      if (!first) out += ", ";
      first = false;
      out += name + '=';
      put_arg(out, a);
    }
    out += ')';
    if (n.mutates) out += " mutates";
    if (n.random) out += " random";
    if (n.ambient) out += " ambient";
    if (n.may_fail) out += " may_fail";
    out += '\n';
  }
  for (const Region& r : graph.regions) {
    out += "  " + std::string(r.kind == Region::kCheckpoint ? "checkpoint" : "branch") + " nodes " +
           std::to_string(r.first) + ".." + std::to_string(r.last);
    if (r.kind == Region::kBranch)
      out += " if " + std::string(r.wanted ? "" : "not ") + '%' + std::to_string(r.condition);
    out += '\n';
  }
  out += "  return (";
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    if (i) out += ", ";
    out += '%' + std::to_string(graph.outputs[i]);
  }
  out += ")\n";
  return out;
}

}  // namespace breakline::graph
