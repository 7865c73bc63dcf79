// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/passes/attention.h"

#include <optional>

#include "core/cpu/passes/build.h"
#include "core/cpu/passes/layout.h"
#include "core/graph/shape_util.h"
#include "core/graph/walk.h"

namespace breakline::cpu {
namespace {

using graph::Arg;
using graph::Dims;
using graph::Node;
using graph::Rewrite;
using graph::Uses;
using graph::ValueId;

constexpr graph::OpRow kAttentionRow = {.name = "attention"};
constexpr int64_t kFewScores = 32 * 32;  ///< for fewer the call costs more than it saves
constexpr double kCountsForNothing = -1e9;

/// What a chain of nodes from two products to the softmax says.
struct Attention {
  ValueId q = graph::kNoValue, kt = graph::kNoValue, v = graph::kNoValue;
  const char* helper = "attention";
  std::optional<Arg> mask;
  std::optional<double> fill;
  double scale = 1;
  std::vector<int> nodes;  ///< all of them, the last product last
};

bool is_named(const Node& node, std::string_view name) {
  return node.op && node.op->name == name && !node.mutates;
}

class Matcher {
 public:
  Matcher(const Rewrite& r, const Uses& uses) : r_(r), uses_(uses) {}

  std::optional<Attention> at(int softmax) {
    found_ = {};
    const Node& node = r_.node(softmax);
    if (!is_named(node, "softmax") || node.outputs.size() != 1) return std::nullopt;
    const ValueId scores = value_of(graph::operand(node, 0, "input"));
    const auto dim = graph::int_arg(graph::operand(node, 1, "dim"));
    const Arg* dtype = graph::operand(node, 2, "dtype");
    if (scores == graph::kNoValue || !dim || !is_none(dtype) || !is_float_tensor(r_.value(scores)))
      return std::nullopt;
    const int64_t rank = r_.value(scores).meta.rank();
    if ((rank != 3 && rank != 4) || (*dim != -1 && *dim != rank - 1)) return std::nullopt;
    if (!second_product(node.outputs[0]) || !walk(scores) || !shapes_fit()) return std::nullopt;
    found_.nodes.push_back(softmax);
    found_.nodes.push_back(last_);
    return found_;
  }

 private:
  /// The one node that reads `id`, if nobody else can see it; -1 otherwise.
  int only_user(ValueId id) const {
    const auto& users = uses_.users[static_cast<size_t>(id)];
    return users.size() == 1 && !uses_.is_output[static_cast<size_t>(id)] && uses_.alone(r_.graph, id) &&
                   uses_.writers[static_cast<size_t>(r_.value(id).storage)].empty()
               ? users.front()
               : -1;
  }
  static bool is_product(const Node& node) {
    return (is_named(node, "matmul") || is_named(node, "bmm")) && node.outputs.size() == 1 &&
           node.args.size() == 2 && node.kwargs.empty() && !node.reversed;
  }

  bool second_product(ValueId weights) {
    last_ = only_user(weights);
    if (last_ < 0 || !is_product(r_.node(last_)) || value_of(&r_.node(last_).args[0]) != weights)
      return false;
    found_.v = value_of(&r_.node(last_).args[1]);
    return found_.v != graph::kNoValue && found_.v != weights;
  }

  /// From the softmax's operand back to the first product.
  bool walk(ValueId id) {
    bool scaled = false;
    while (true) {
      const int n = r_.value(id).producer;
      if (n < 0 || only_user(id) < 0) return false;
      const Node& node = r_.node(n);
      found_.nodes.insert(found_.nodes.begin(), n);
      if (is_product(node)) {
        found_.q = value_of(&node.args[0]);
        found_.kt = value_of(&node.args[1]);
        return found_.q != graph::kNoValue && found_.kt != graph::kNoValue;
      }
      if (node.reversed || node.mutates || node.outputs.size() != 1) return false;
      ValueId next = graph::kNoValue;
      if (!scaled && (next = scaling(node)) != graph::kNoValue)
        scaled = true;
      else if (!scaled && !found_.mask)
        next = masking(node);
      if (next == graph::kNoValue || r_.value(next).meta.sizes != r_.value(id).meta.sizes) return false;
      id = next;
    }
  }

  ValueId scaling(const Node& node) {
    if (node.args.size() != 2 || !node.kwargs.empty()) return graph::kNoValue;
    const bool multiplies = is_named(node, "mul");
    if (!multiplies && !is_named(node, "div")) return graph::kNoValue;
    const bool swapped = multiplies && value_of(&node.args[0]) == graph::kNoValue;
    const ValueId x = value_of(&node.args[swapped ? 1 : 0]);
    const auto factor = graph::float_arg(&node.args[swapped ? 0 : 1]);
    if (x == graph::kNoValue || !factor || *factor <= 0 || *factor > 1e6 || *factor < 1e-6)
      return graph::kNoValue;
    found_.scale = multiplies ? *factor : 1 / *factor;
    return x;
  }

  bool is_mask(ValueId id, graph::DType dtype) const {
    const graph::Value& v = r_.value(id);
    return !v.is_scalar && v.meta.dtype == dtype && v.meta.plain &&
           v.meta.device == graph::DeviceKind::kCpu && v.meta.numel() > 0 && v.meta.rank() >= 1;
  }

  ValueId masking(const Node& node) {
    if (is_named(node, "add") && node.args.size() == 2 && node.kwargs.empty()) {
      const ValueId a = value_of(&node.args[0]), b = value_of(&node.args[1]);
      if (a == graph::kNoValue || b == graph::kNoValue) return graph::kNoValue;
      const bool first =
          r_.value(a).meta.sizes == r_.value(node.outputs[0]).meta.sizes && leads_to_product(a);
      const ValueId scores = first ? a : b, mask = first ? b : a;
      if (!is_mask(mask, graph::DType::kFloat32)) return graph::kNoValue;
      found_.mask = Arg::value(mask);
      found_.helper = "attention_added";
      return scores;
    }
    const bool fills = is_named(node, "masked_fill");
    if ((!fills && !is_named(node, "where")) || node.args.size() != 3 || !node.kwargs.empty())
      return graph::kNoValue;
    const ValueId scores = value_of(&node.args[fills ? 0 : 1]), mask = value_of(&node.args[fills ? 1 : 0]);
    const auto value = graph::float_arg(&node.args[2]);
    if (scores == graph::kNoValue || mask == graph::kNoValue || !value || *value > kCountsForNothing ||
        !is_mask(mask, graph::DType::kBool))
      return graph::kNoValue;
    found_.mask = Arg::value(mask);
    found_.fill = *value;
    found_.helper = fills ? "attention_filled" : "attention_kept";
    return scores;
  }

  /// Which of two summands is the scores: a product, or one scaled.
  bool leads_to_product(ValueId id) const {
    for (int steps = 0; steps < 2; ++steps) {
      const int n = r_.value(id).producer;
      if (n < 0) return false;
      const Node& node = r_.node(n);
      if (is_product(node)) return true;
      if (node.args.empty()) return false;
      id = value_of(&node.args[value_of(&node.args[0]) == graph::kNoValue && node.args.size() > 1 ? 1 : 0]);
      if (id == graph::kNoValue) return false;
    }
    return false;
  }

  /// q [B…, L, E], kt [B…, E, S], v [B…, S, E], and a mask that broadcasts to the scores.
  bool shapes_fit() const {
    for (const ValueId id : {found_.q, found_.kt, found_.v})
      if (!is_float_tensor(r_.value(id))) return false;
    const Dims &q = r_.value(found_.q).meta.sizes, &kt = r_.value(found_.kt).meta.sizes,
               &v = r_.value(found_.v).meta.sizes;
    const size_t rank = q.size();
    if ((rank != 3 && rank != 4) || kt.size() != rank || v.size() != rank) return false;
    for (size_t d = 0; d + 2 < rank; ++d)
      if (q[d] != kt[d] || q[d] != v[d]) return false;
    const int64_t size = q[rank - 1], length = q[rank - 2], keys = kt[rank - 1];
    if (kt[rank - 2] != size || v[rank - 1] != size || v[rank - 2] != keys || length * keys < kFewScores)
      return false;
    if (!found_.mask) return true;
    const Dims& mask = r_.value(found_.mask->id()).meta.sizes;
    Dims scores(q.begin(), q.end() - 1);
    scores.push_back(keys);
    return graph::broadcast(mask, scores) == std::optional(scores);
  }

  const Rewrite& r_;
  const Uses& uses_;
  Attention found_;
  int last_ = -1;
};

/// Nobody writes what the nodes read between the first and the last of them.
bool operands_stay(const Rewrite& r, const Uses& uses, const Attention& a) {
  const int first = a.nodes.front(), last = a.nodes.back();
  const auto stays = [&](ValueId id) {
    const auto& writers = uses.writers[static_cast<size_t>(r.value(id).storage)];
    return std::none_of(writers.begin(), writers.end(), [&](int w) { return w > first && w < last; });
  };
  return stays(a.q) && stays(a.kt) && stays(a.v) && (!a.mask || stays(a.mask->id()));
}

/// Heads inside of the sequence, as PyTorch's kernel lays its result out.
Dims fused_strides(const Dims& sizes) {
  const size_t rank = sizes.size();
  const int64_t heads = sizes[rank - 3], length = sizes[rank - 2], size = sizes[rank - 1];
  Dims strides = {size, heads * size, 1};
  if (rank == 4) strides.insert(strides.begin(), heads * length * size);
  return strides;
}

}  // namespace

void attention_pass(Rewrite& r, const graph::PassTools& tools) {
  if (!tools.infer || !tools.resolve("breakline._frozen.with_strides")) return;
  const Uses uses(r.graph);
  Matcher matcher(r, uses);
  NewStrides changed;
  for (int n = 0; n < r.count(); ++n) {
    const auto found = matcher.at(n);
    if (!found || !operands_stay(r, uses, *found)) continue;
    const int last = found->nodes.back();
    const ValueId out = r.node(last).outputs[0];
    const graph::ObjectHandle helper = tools.resolve(std::string("breakline._calls.") + found->helper);
    if (!helper || !may_change_layout(r, uses, out)) continue;
    std::vector<Arg> args = {Arg::value(found->q), Arg::value(found->kt), Arg::value(found->v)};
    if (found->mask) args.push_back(*found->mask);
    if (found->fill) args.push_back(arg(*found->fill));
    args.push_back(arg(found->scale));
    std::vector<int> origin;
    for (const int node : found->nodes)
      origin = both(std::move(origin), r.notes[static_cast<size_t>(node)].origin);
    r.node(last) = call(kAttentionRow, helper, std::move(args), {out});
    r.notes[static_cast<size_t>(last)].origin = std::move(origin);
    for (const int node : found->nodes)
      if (node != last) r.erase(node);
    changed.emplace(out, fused_strides(r.value(out).meta.sizes));
    ++r.library_calls;
  }
  if (changed.empty()) return;
  r.commit();
  spread_layout(r, tools, changed, [](const Node& node) { return node.op == &kAttentionRow; });
}

}  // namespace breakline::cpu
