// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <array>
#include <string_view>

#include "core/graph/op_table.h"
#include "core/graph/passes/pure.h"
#include "core/graph/walk.h"

namespace breakline::graph {
namespace {

/// Views that become copies where no view fits, element by element. Others make a tensor of as many elements
/// with an order of its own (x[index]).
constexpr std::array<std::string_view, 4> kReshapes = {"reshape", "reshape_as", "flatten", "ravel"};

/// A reshape that had to copy.
bool copies(const Rewrite& r, const Node& node) {
  if (!node.op || std::find(kReshapes.begin(), kReshapes.end(), node.op->name) == kReshapes.end() ||
      node.mutates || node.multi || node.outputs.size() != 1 || node.outputs[0] == kNoValue ||
      node.args.empty() || !node.args[0].is_value())
    return false;
  const Value &out = r.value(node.outputs[0]), &x = r.value(node.args[0].id());
  return out.storage >= 0 && x.storage >= 0 && out.storage != x.storage && out.meta.plain && x.meta.plain &&
         !x.is_scalar && out.meta.dtype == x.meta.dtype && out.meta.numel() == x.meta.numel() &&
         out.meta.is_contiguous() && !x.meta.is_contiguous();
}

/// What can read memory without a tensor, directly or through views: with one copying kernel before it
/// nothing is called.
bool read_by_kernels(const Rewrite& r, const Uses& uses, ValueId id) {
  const auto& users = uses.users[static_cast<size_t>(id)];
  return !uses.is_output[static_cast<size_t>(id)] && !users.empty() &&
         std::all_of(users.begin(), users.end(), [&](int user) {
           const Node& node = r.node(user);
           if (!node.op || node.mutates) return false;
           if (node.op->kind == OpKind::kView) {
             return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId out) {
               return out == kNoValue || read_by_kernels(r, uses, out);
             });
           }
           return node.op->kind == OpKind::kMatmul || node.op->scalar != ScalarFn::kNone;
         });
}

Arg sizes_of(const TensorMeta& meta) {
  ArgSeq seq;
  for (const int64_t size : meta.sizes) seq.items.push_back({size, nullptr});
  return {std::move(seq), nullptr};
}

}  // namespace

void copies_pass(Rewrite& r, const PassTools& tools) {
  const ObjectHandle contiguous = tools.resolve ? tools.resolve("torch.Tensor.contiguous") : nullptr;
  const ObjectHandle view = tools.resolve ? tools.resolve("torch.Tensor.view") : nullptr;
  if (!contiguous || !view) return;
  const Uses uses(r.graph);
  for (int n = 0; n < r.count(); ++n) {
    if (!copies(r, r.node(n)) || !read_by_kernels(r, uses, r.node(n).outputs[0])) continue;
    const ValueId x = r.node(n).args[0].id(), out = r.node(n).outputs[0];
    TensorMeta meta = r.value(x).meta;
    meta.strides = contiguous_strides(meta.sizes);
    meta.storage_offset = 0;
    meta.is_leaf = r.value(out).meta.is_leaf;
    const ValueId copy = r.add_value(std::move(meta));
    r.value(copy).storage = r.value(out).storage;
    Node made;
    made.op = find_op("contiguous").row;
    made.callable = contiguous;
    made.name = "Tensor.contiguous";
    made.args = {Arg::value(x)};
    made.outputs = {copy};
    made.origin = r.node(n).origin;
    r.insert(n, std::move(made), r.notes[static_cast<size_t>(n)]);
    Node& seen = r.node(n);
    seen.op = find_op("view").row;
    seen.callable = view;
    seen.name = "Tensor.view";
    seen.args = {Arg::value(copy), sizes_of(r.value(out).meta)};
    seen.kwargs.clear();
  }
}

}  // namespace breakline::graph
