// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/graph/passes/rewrite.h"

#include <algorithm>

#include "core/graph/op_table.h"
#include "core/graph/walk.h"

namespace breakline::graph {
namespace {

size_t at(int32_t index) { return static_cast<size_t>(index); }

int32_t storage_count(const Graph& graph) {
  int32_t count = 0;
  for (const Value& value : graph.values) count = std::max(count, value.storage + 1);
  return count;
}

/// The operand that an in-place pointwise node writes, when it writes no other; kNoValue for what may write
/// more.
ValueId written_alone(const Node& node) {
  const bool simple = node.op && node.op->scalar != ScalarFn::kNone && node.outputs.size() == 1 &&
                      !node.args.empty() && node.args[0].is_value() && node.args[0].id() == node.outputs[0];
  return simple ? node.outputs[0] : kNoValue;
}

}  // namespace

std::string verify(const Graph& graph) {
  const auto known = [&](ValueId id) { return id >= 0 && at(id) < graph.values.size(); };
  std::vector<bool> made(graph.values.size(), false);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const ValueId id = graph.inputs[i];
    if (!known(id)) return "input " + std::to_string(i) + " is no value";
    if (graph.values[at(id)].input != static_cast<int32_t>(i))
      return "value " + std::to_string(id) + " is not input " + std::to_string(i);
    made[at(id)] = true;
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const std::string where = "node " + std::to_string(n) + " (" + node.name + ")";
    if (!node.callable) return where + " has no callable";
    std::string fault;
    walk_operands(node, [&](ValueId id) {
      if (fault.empty() && (!known(id) || !made[at(id)]))
        fault = where + " uses value " + std::to_string(id) + ", which is not made yet";
    });
    if (!fault.empty()) return fault;
    for (const ValueId id : node.outputs) {
      if (id == kNoValue) continue;
      if (!known(id)) return where + " makes no value";
      if (!made[at(id)] && graph.values[at(id)].producer != static_cast<int32_t>(n))
        return where + " makes value " + std::to_string(id) + " of another producer";
      made[at(id)] = true;
    }
  }
  for (const ValueId id : graph.outputs)
    if (!known(id) || !made[at(id)]) return "output " + std::to_string(id) + " is never made";
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const Value& value = graph.values[v];
    if (value.producer >= static_cast<int32_t>(graph.nodes.size()))
      return "value " + std::to_string(v) + " has a producer that is not there";
    if (value.meta.sizes.size() != value.meta.strides.size())
      return "value " + std::to_string(v) + " has sizes and strides of different rank";
  }
  return "";
}

Uses::Uses(const Graph& graph) {
  const size_t storages = at(storage_count(graph));
  users.resize(graph.values.size());
  is_output.assign(graph.values.size(), false);
  of_storage.resize(storages);
  writers.resize(storages);
  escapes.assign(storages, false);
  given.assign(storages, false);
  opaque.assign(storages, false);
  for (size_t v = 0; v < graph.values.size(); ++v) {
    const Value& value = graph.values[v];
    if (value.storage < 0 || (value.input < 0 && value.producer < 0)) continue;
    of_storage[at(value.storage)].push_back(static_cast<ValueId>(v));
    if (value.input >= 0) given[at(value.storage)] = true;
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const int self = static_cast<int>(n);
    const ValueId only = written_alone(node);
    const auto touch = [&](ValueId id) {
      const int32_t storage = graph.values[at(id)].storage;
      if (storage < 0) return;
      const bool writes = node.mutates && (only == kNoValue || graph.values[at(only)].storage == storage);
      if (writes && (writers[at(storage)].empty() || writers[at(storage)].back() != self))
        writers[at(storage)].push_back(self);
      if (!node.op) opaque[at(storage)] = true;
    };
    walk_operands(node, [&](ValueId id) {
      if (users[at(id)].empty() || users[at(id)].back() != self) users[at(id)].push_back(self);
      touch(id);
    });
    for (const ValueId id : node.outputs)
      if (id != kNoValue) touch(id);
  }
  for (const ValueId id : graph.outputs) {
    is_output[at(id)] = true;
    if (graph.values[at(id)].storage >= 0) escapes[at(graph.values[at(id)].storage)] = true;
  }
}

bool Uses::alone(const Graph& graph, ValueId id) const {
  const int32_t storage = graph.values[at(id)].storage;
  return storage >= 0 && of_storage[at(storage)].size() == 1;
}

Rewrite::Rewrite(const Graph& original) : graph(original), next_storage_(storage_count(original)) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) notes.push_back({{static_cast<int>(n)}, false});
}

ValueId Rewrite::add_value(TensorMeta meta) {
  Value value;
  value.meta = std::move(meta);
  value.storage = next_storage_++;
  graph.values.push_back(std::move(value));
  return static_cast<ValueId>(graph.values.size() - 1);
}

void Rewrite::insert(int before, Node node, Note note) {
  inserted_.push_back({before, std::move(node), std::move(note)});
}

void Rewrite::erase(int node) { erased_.push_back(node); }

void Rewrite::replace(ValueId from, ValueId to, int first) {
  const auto change = [&](ValueId& id) {
    if (id == from) id = to;
  };
  for (int n = first; n < count(); ++n) walk_operands(node(n), change);
  for (ValueId& id : graph.outputs) change(id);
}

void Rewrite::commit() {
  if (!pending()) return;
  std::sort(erased_.begin(), erased_.end());
  std::stable_sort(inserted_.begin(), inserted_.end(),
                   [](const Inserted& a, const Inserted& b) { return a.before < b.before; });
  std::vector<Node> nodes;
  std::vector<Note> said;
  size_t next = 0;
  for (int n = 0; n <= count(); ++n) {
    for (; next < inserted_.size() && inserted_[next].before <= n; ++next) {
      nodes.push_back(std::move(inserted_[next].node));
      said.push_back(std::move(inserted_[next].note));
    }
    if (n == count() || std::binary_search(erased_.begin(), erased_.end(), n)) continue;
    nodes.push_back(std::move(node(n)));
    said.push_back(std::move(notes[at(n)]));
  }
  graph.nodes = std::move(nodes);
  notes = std::move(said);
  inserted_.clear();
  erased_.clear();
  for (Value& value : graph.values) value.producer = -1;
  for (int n = 0; n < count(); ++n)
    for (const ValueId id : node(n).outputs)
      if (id != kNoValue && value(id).input < 0 && value(id).producer < 0) value(id).producer = n;
}

bool Rewrite::settled(ValueId id, const Uses& uses) const {
  const Value& v = value(id);
  if (v.is_scalar || v.storage < 0 || at(v.storage) >= uses.writers.size()) return false;
  if (v.producer >= 0) return notes[at(v.producer)].frozen;
  return v.input >= 0 && uses.writers[at(v.storage)].empty() && v.meta.plain;
}

Split split(const Rewrite& rewrite) {
  Split parts;
  const Graph& from = rewrite.graph;
  auto main = std::make_shared<Graph>(from);
  auto frozen = std::make_shared<Graph>(from);
  main->nodes.clear();
  frozen->nodes.clear();
  std::vector<bool> made_ahead(from.values.size(), false), kept(from.values.size(), false);
  const auto keep = [&](ValueId id) {
    if (!made_ahead[at(id)] || kept[at(id)]) return;
    kept[at(id)] = true;
    parts.kept.push_back(id);
  };
  for (Graph* part : {main.get(), frozen.get()})
    for (Value& value : part->values) value.producer = -1;
  for (int n = 0; n < rewrite.count(); ++n) {
    const bool ahead = rewrite.notes[at(n)].frozen;
    Graph& to = ahead ? *frozen : *main;
    const Node& node = rewrite.node(n);
    for (const ValueId id : node.outputs) {
      if (id == kNoValue) continue;
      if (ahead) made_ahead[at(id)] = true;
      Value& value = to.values[at(id)];
      if (value.producer < 0 && value.input < 0) value.producer = static_cast<int32_t>(to.nodes.size());
    }
    if (!ahead) walk_operands(node, keep);
    if (ahead) {
      walk_operands(node, [&](ValueId id) {
        if (from.values[at(id)].input >= 0) parts.sources.push_back(from.values[at(id)].input);
      });
    } else {
      parts.origin.push_back(rewrite.notes[at(n)].origin);
    }
    to.nodes.push_back(node);
  }
  for (const ValueId id : from.outputs) keep(id);
  std::sort(parts.sources.begin(), parts.sources.end());
  parts.sources.erase(std::unique(parts.sources.begin(), parts.sources.end()), parts.sources.end());
  for (const ValueId id : parts.kept) {
    main->values[at(id)].input = static_cast<int32_t>(main->inputs.size());
    main->inputs.push_back(id);
  }
  frozen->outputs = parts.kept;
  frozen->grad_mode = frozen->needs_grad = false;
  parts.main = std::move(main);
  if (!frozen->nodes.empty()) parts.frozen = std::move(frozen);
  return parts;
}

}  // namespace breakline::graph
