// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "core/graph/op_table.h"
#include "core/graph/passes/pure.h"
#include "core/graph/walk.h"

namespace breakline::graph {
namespace {

size_t at(int32_t index) { return static_cast<size_t>(index); }

void put(std::string& key, uint64_t bits) { key.append(reinterpret_cast<const char*>(&bits), sizeof bits); }
void put(std::string& key, const void* address) { put(key, reinterpret_cast<uintptr_t>(address)); }

/// Text that is equal for arguments that no callable can tell apart.
struct KeyMaker {
  std::string& key;
  void arg(const Arg& a) const {
    key += static_cast<char>('a' + a.v.index());
    std::visit(*this, a.v);
  }
  void operator()(std::monostate) const {}
  void operator()(Value_ v) const { put(key, static_cast<uint64_t>(v.id)); }
  void operator()(bool b) const { key += b ? '1' : '0'; }
  void operator()(int64_t i) const { put(key, static_cast<uint64_t>(i)); }
  void operator()(double d) const { put(key, std::bit_cast<uint64_t>(d)); }
  void operator()(const std::string& s) const {
    put(key, s.size());
    key += s;
  }
  void operator()(const DTypeArg& d) const { put(key, d.object); }
  void operator()(const Opaque& o) const { put(key, o.object); }
  void operator()(const ArgSeq& seq) const {
    put(key, static_cast<uint64_t>(seq.kind));
    put(key, seq.items.size());
    for (const Arg& item : seq.items) arg(item);
  }
};

std::string key_of(const Node& node) {
  std::string key;
  const KeyMaker maker{key};
  put(key, node.callable);
  put(key, node.args.size());
  for (const Arg& a : node.args) maker.arg(a);
  for (const auto& [name, a] : node.kwargs) {
    maker(name);
    maker.arg(a);
  }
  return key;
}

/// Results in memory of their own, which nobody writes.
bool own_results(const Rewrite& r, const Uses& uses, const Node& node) {
  return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
    if (id == kNoValue) return true;
    const int32_t storage = r.value(id).storage;
    if (storage < 0 || uses.given[at(storage)] || !uses.writers[at(storage)].empty()) return false;
    const auto& together = uses.of_storage[at(storage)];
    // Views made of the result later are fine, what it is a view of is not.
    return std::all_of(together.begin(), together.end(),
                       [&](ValueId other) { return r.value(other).producer >= r.value(id).producer; });
  });
}

bool leaves(const Rewrite& r, const Uses& uses, const Node& node) {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId id) { return id != kNoValue && uses.escapes[at(r.value(id).storage)]; });
}

}  // namespace

void common_pass(Rewrite& r, const PassTools&) {
  Uses uses(r.graph);
  std::unordered_map<std::string, int> seen;
  for (int n = 0; n < r.count(); ++n) {
    if (r.node(n).mutates || r.node(n).ambient) {
      seen.clear();  // what was read before may be something else now
      continue;
    }
    const Node& node = r.node(n);
    if (!is_pure(node) || node.may_fail || node.outputs.empty() || node.op->kind == OpKind::kView) continue;
    if (std::any_of(node.outputs.begin(), node.outputs.end(), [](ValueId id) { return id == kNoValue; }))
      continue;
    if (!own_results(r, uses, node)) continue;
    const auto [it, fresh] = seen.emplace(key_of(node), n);
    if (fresh) continue;
    const Node& earlier = r.node(it->second);
    if (earlier.outputs.size() != node.outputs.size() || (leaves(r, uses, earlier) && leaves(r, uses, node)))
      continue;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const int32_t from = r.value(node.outputs[i]).storage, to = r.value(earlier.outputs[i]).storage;
      if (uses.escapes[at(from)]) uses.escapes[at(to)] = true;
      for (Value& value : r.graph.values)
        if (value.storage == from) value.storage = to;
      r.replace(node.outputs[i], earlier.outputs[i], n + 1);
    }
    auto& origin = r.notes[at(it->second)].origin;
    origin.insert(origin.end(), r.notes[at(n)].origin.begin(), r.notes[at(n)].origin.end());
    std::sort(origin.begin(), origin.end());
    r.erase(n);
  }
}

}  // namespace breakline::graph
