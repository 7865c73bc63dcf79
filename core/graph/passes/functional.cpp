// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/graph/op_table.h"
#include "core/graph/passes/pure.h"
#include "core/graph/walk.h"

namespace breakline::graph {
namespace {

size_t at(int32_t index) { return static_cast<size_t>(index); }

/// The dotted name of the out-of-place form of an in-place callable, "" when it has none.
std::string fresh_name(const Node& node) {
  const size_t dot = node.name.rfind('.');
  const std::string holder = dot == std::string::npos ? "" : node.name.substr(0, dot);
  std::string name = node.name.substr(dot == std::string::npos ? 0 : dot + 1);
  if (holder.empty()) return name.starts_with("i") ? "operator." + name.substr(1) : "";  // operator.iadd
  if (name.starts_with("__i") && name.ends_with("__")) return "torch.Tensor.__" + name.substr(3);
  if (name.size() < 2 || name.back() != '_' || name.starts_with("__")) return "";
  name.pop_back();
  if (holder == "Tensor") return "torch.Tensor." + name;
  return holder == "torch" ? name : "";
}

ObjectHandle fresh_callable(const std::string& name, const PassTools& tools) {
  if (name.find('.') != std::string::npos) return tools.resolve(name);
  for (const char* holder : {"torch._C._VariableFunctions.", "torch._C._nn."})
    if (const ObjectHandle found = tools.resolve(holder + name)) return found;
  return nullptr;
}

/// Node `n` writes an intermediate that nothing made earlier shares memory with.
bool rewritable(const Rewrite& r, const Uses& uses, int n) {
  const Node& node = r.node(n);
  if (!node.mutates || node.random || node.ambient || node.multi || !node.op ||
      node.op->scalar == ScalarFn::kNone)
    return false;
  if (node.args.empty() || !node.args[0].is_value() || node.outputs.size() != 1 ||
      node.outputs[0] != node.args[0].id())
    return false;
  const ValueId id = node.outputs[0];
  const Value& value = r.value(id);
  if (value.producer < 0 || value.storage < 0 || !value.meta.plain || uses.opaque[at(value.storage)])
    return false;
  if (uses.escapes[at(value.storage)]) return false;  // its version counter tells of the write
  for (const auto& [name, arg] : node.kwargs)
    if (name == "out") return false;
  return std::none_of(uses.of_storage[at(value.storage)].begin(), uses.of_storage[at(value.storage)].end(),
                      [&](ValueId other) {
                        return other != id && (r.value(other).producer < n || r.value(other).input >= 0);
                      });
}

bool is_pointwise(const Node& node) { return node.op && node.op->scalar != ScalarFn::kNone; }

/// Another pointwise node of this shape, or a matrix product, makes the operand or reads the result.
bool has_neighbour(const Rewrite& r, const Uses& uses, int n) {
  const ValueId id = r.node(n).outputs[0];
  const auto fits = [&](int other) {
    if (r.node(other).op && r.node(other).op->kind == OpKind::kMatmul) return true;
    return other != n && is_pointwise(r.node(other)) && !r.node(other).outputs.empty() &&
           r.node(other).outputs[0] != kNoValue &&
           r.value(r.node(other).outputs[0]).meta.sizes == r.value(id).meta.sizes;
  };
  if (fits(r.value(id).producer)) return true;
  const std::vector<int>& users = uses.users[at(id)];
  return std::any_of(users.begin(), users.end(), fits);
}

void rewrite_node(Rewrite& r, int n, ObjectHandle callable, const std::string& name) {
  const ValueId old = r.node(n).outputs[0];
  const int32_t old_storage = r.value(old).storage;
  TensorMeta meta = r.value(old).meta;
  meta.storage_offset = 0;
  const ValueId fresh = r.add_value(std::move(meta));
  r.value(fresh).producer = n;
  for (Value& other : r.graph.values)
    if (other.storage == old_storage && other.producer > n) other.storage = r.value(fresh).storage;
  Node& node = r.node(n);
  node.callable = callable;
  node.name = name;
  node.mutates = false;
  node.outputs[0] = fresh;
  r.replace(old, fresh, n + 1);
  for (int later = n + 1; later < r.count(); ++later)
    std::replace(r.node(later).outputs.begin(), r.node(later).outputs.end(), old, fresh);
}

}  // namespace

void functional_pass(Rewrite& r, const PassTools& tools) {
  if (!tools.resolve || !tools.infer) return;
  for (int n = 0; n < r.count(); ++n) {
    if (!r.node(n).mutates) continue;
    const Uses uses(r.graph);
    if (!rewritable(r, uses, n) || !has_neighbour(r, uses, n)) continue;
    const std::string name = fresh_name(r.node(n));
    const ObjectHandle callable = name.empty() ? nullptr : fresh_callable(name, tools);
    if (!callable) continue;
    Node fresh = r.node(n);
    fresh.callable = callable;
    fresh.mutates = false;
    const auto made = tools.infer(r.graph, fresh);
    const TensorMeta& meta = r.value(r.node(n).outputs[0]).meta;
    if (!made || made->size() != 1 || made->front().alias != kNoValue ||
        made->front().meta.dtype != meta.dtype || made->front().meta.sizes != meta.sizes ||
        made->front().meta.strides != meta.strides)
      continue;
    rewrite_node(r, n, callable, r.node(n).op ? "torch." + std::string(r.node(n).op->name) : name);
  }
}

}  // namespace breakline::graph
