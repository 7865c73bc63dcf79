// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/passes/layout.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/cpu/passes/build.h"
#include "core/graph/shape_util.h"
#include "core/graph/walk.h"

namespace breakline::cpu {
namespace {

using graph::Arg;
using graph::Node;
using graph::Rewrite;
using graph::TensorMeta;
using graph::Uses;
using graph::ValueId;

constexpr graph::OpRow kCopyRow = {.name = "with_strides"};

/// Ops beside the pointwise ones whose elements do not depend on the layout of their operands.
constexpr std::array<std::string_view, 17> kFollows = {"max_pool2d",
                                                       "avg_pool2d",
                                                       "adaptive_avg_pool2d",
                                                       "batch_norm",
                                                       "cat",
                                                       "mean",
                                                       "sum",
                                                       "flatten",
                                                       "squeeze",
                                                       "view",
                                                       "reshape",
                                                       "upsample_nearest2d",
                                                       "upsample_bilinear2d",
                                                       "permute",
                                                       "transpose",
                                                       "contiguous",
                                                       "swapaxes"};

/// x.relu_(): writes its first operand and nothing else.
bool writes_first(const Node& node) {
  return node.op && node.op->scalar != graph::ScalarFn::kNone && node.outputs.size() == 1 &&
         !node.args.empty() && node.args[0].is_value() && node.args[0].id() == node.outputs[0];
}

bool follows(const Node& node) {
  if (!node.op || node.ambient || node.random || node.mutates) return false;
  return node.op->scalar != graph::ScalarFn::kNone ||
         std::find(kFollows.begin(), kFollows.end(), node.op->name) != kFollows.end();
}

class Spread {
 public:
  Spread(Rewrite& r, const graph::PassTools& tools, bool (*takes_any)(const Node&))
      : r_(r),
        tools_(tools),
        takes_any_(takes_any),
        uses_(r.graph),
        helper_(tools.resolve("breakline._frozen.with_strides")) {}

  void run(const NewStrides& changed) {
    for (int n = 0; n < r_.count(); ++n) {
      // A write in place goes by elements, whatever the layouts are, and must reach the value itself.
      const bool any = takes_any_(r_.node(n)) || (r_.node(n).mutates && writes_first(r_.node(n)));
      if (!any && reads_changed(r_.node(n)) && !carry(n)) restore_operands(n);
      for (const ValueId id : r_.node(n).outputs) {
        if (id == graph::kNoValue) continue;
        copies_.erase(id);  // written in place: an earlier copy shows what it was
        const auto it = r_.value(id).producer == n ? changed.find(id) : changed.end();
        if (it != changed.end()) set_strides(id, it->second);
      }
    }
    for (ValueId& id : r_.graph.outputs)
      if (before_.contains(id)) id = restored(id, r_.count());
  }

 private:
  void set_strides(ValueId id, const std::vector<int64_t>& strides) {
    TensorMeta& meta = r_.value(id).meta;
    if (meta.strides == strides) return;
    before_.emplace(id, meta.strides);
    meta.strides = strides;
  }

  bool reads_changed(const Node& node) const {
    bool any = false;
    graph::walk_operands(node, [&](ValueId id) { any = any || before_.contains(id); });
    return any;
  }

  /// The node works on the changed operands as they are; its results' strides follow.
  bool carry(int n) {
    const Node& node = r_.node(n);
    if (!follows(node)) return false;
    const auto made = tools_.infer(r_.graph, node);
    if (!made || made->size() != node.outputs.size()) return false;
    for (size_t i = 0; i < made->size(); ++i)
      if (node.outputs[i] == graph::kNoValue || !may_carry(node.outputs[i], (*made)[i])) return false;
    for (size_t i = 0; i < made->size(); ++i) {
      const ValueId id = node.outputs[i], alias = (*made)[i].alias;
      set_strides(id, (*made)[i].meta.strides);
      if (alias != graph::kNoValue) join_memory(r_.value(id).storage, r_.value(alias).storage);
    }
    return true;
  }

  bool may_carry(ValueId id, const graph::Made& made) const {
    const TensorMeta &now = made.meta, &known = r_.value(id).meta;
    if (now.dtype != known.dtype || now.sizes != known.sizes || now.storage_offset != known.storage_offset)
      return false;
    const bool viewed = made.alias != graph::kNoValue, was_viewed = shares_operand(id);
    if (now.strides == known.strides && viewed == was_viewed) return true;
    if (!viewed && !was_viewed)
      return may_change_layout(r_, uses_, id) && graph::is_dense(now.sizes, now.strides);
    // A view of other elements, a copy that is none any more, or the other way round: nobody may write or
    // look from outside.
    return is_private(r_.value(id).storage) && (!viewed || is_private(r_.value(made.alias).storage));
  }

  /// Made later than the memory it lies in.
  bool shares_operand(ValueId id) const {
    const auto storage = static_cast<size_t>(r_.value(id).storage);
    const auto& together = uses_.of_storage[storage];
    return std::any_of(together.begin(), together.end(),
                       [&](ValueId other) { return r_.value(other).producer < r_.value(id).producer; });
  }

  bool is_private(int32_t storage) const {
    const auto s = static_cast<size_t>(storage);
    return storage >= 0 && s < uses_.writers.size() && uses_.writers[s].empty() && !uses_.escapes[s] &&
           !uses_.given[s];
  }

  void join_memory(int32_t from, int32_t to) {
    if (from == to) return;
    for (graph::Value& value : r_.graph.values)
      if (value.storage == from) value.storage = to;
  }

  void restore_operands(int n) {
    graph::walk_operands(r_.node(n), [&](ValueId& id) {
      if (before_.contains(id)) id = restored(id, n);
    });
  }

  /// The value with the strides that the program knows, made in front of its first reader.
  ValueId restored(ValueId id, int before) {
    const auto known = copies_.find(id);
    if (known != copies_.end()) return known->second;
    TensorMeta meta = r_.value(id).meta;
    meta.strides = before_.at(id);
    const std::vector<int64_t> sizes = meta.sizes, strides = meta.strides;
    const ValueId copy = r_.add_value(std::move(meta));
    const int producer = r_.value(id).producer;
    r_.insert(before, call(kCopyRow, helper_, {Arg::value(id), arg(sizes), arg(strides)}, {copy}),
              {r_.notes[static_cast<size_t>(producer)].origin, false});
    return copies_[id] = copy;
  }

  Rewrite& r_;
  const graph::PassTools& tools_;
  bool (*takes_any_)(const Node&);
  const Uses uses_;
  graph::ObjectHandle helper_;
  std::map<ValueId, std::vector<int64_t>> before_;  ///< strides that the program knows
  std::map<ValueId, ValueId> copies_;
};

}  // namespace

bool may_change_layout(const Rewrite& r, const Uses& uses, ValueId id) {
  const graph::Value& v = r.value(id);
  if (v.producer < 0 || v.storage < 0 || static_cast<size_t>(v.storage) >= uses.writers.size()) return false;
  const auto storage = static_cast<size_t>(v.storage);
  if (uses.given[storage] || v.meta.storage_offset != 0) return false;
  const auto& together = uses.of_storage[storage];
  const auto& writers = uses.writers[storage];
  if (!writers.empty())
    return together.size() == 1 && std::all_of(writers.begin(), writers.end(), [&](int w) {
             return writes_first(r.node(w)) && r.node(w).outputs[0] == id;
           });
  return std::all_of(together.begin(), together.end(),
                     [&](ValueId other) { return other == id || r.value(other).producer > v.producer; });
}

void spread_layout(Rewrite& r, const graph::PassTools& tools, const NewStrides& changed,
                   bool (*takes_any)(const Node&)) {
  Spread(r, tools, takes_any).run(changed);
  r.commit();
}

}  // namespace breakline::cpu
