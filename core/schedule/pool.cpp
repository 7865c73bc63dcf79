// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/pool.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "core/graph/op_table.h"
#include "core/graph/shape_util.h"

namespace breakline::schedule {
namespace {

using graph::Arg;
using graph::Dims;
using graph::TensorMeta;

/// Each tap is a buffer and some instructions.
constexpr int64_t kMostTaps = 25;

struct Call {
  const graph::Node& node;
  /// Null when absent or None.
  const Arg* arg(size_t i, std::string_view name) const {
    const Arg* found = i < node.args.size() ? &node.args[i] : nullptr;
    for (const auto& [key, value] : node.kwargs) {
      if (!found && key == name) found = &value;
    }
    return found && !found->is_none() ? found : nullptr;
  }
  /// One number per window dim, from one for all or a list.
  std::optional<Dims> per_dim(size_t i, std::string_view name, size_t n,
                              std::optional<Dims> otherwise) const {
    const Arg* given = arg(i, name);
    auto list = graph::dims_arg(given);
    if (!given || (list && list->empty())) return otherwise;
    if (list && list->size() == 1) list->assign(n, list->front());
    return list && list->size() == n ? list : std::nullopt;
  }
  std::optional<bool> flag(size_t i, std::string_view name, bool otherwise) const {
    const Arg* given = arg(i, name);
    return given ? graph::bool_arg(given) : std::optional(otherwise);
  }
};

bool bind_windows(const Call& call, const TensorMeta& x, Pool& pool) {  // (x, kernel, stride, padding …)
  const size_t n = pool.windows.size();
  const auto kernel = call.per_dim(1, "kernel_size", n, {});
  const auto stride = call.per_dim(2, "stride", n, kernel),
             padding = call.per_dim(3, "padding", n, Dims(n, 0));
  if (!kernel || !stride || !padding) return false;
  for (size_t i = 0; i < n; ++i)
    pool.windows[i] = {(*kernel)[i], (*stride)[i], (*padding)[i], 1, x.sizes[pool.first_dim + i]};
  return true;
}
bool bind_max(const Call& call, const TensorMeta& x, Pool& pool) {  // (… dilation, ceil_mode)
  const auto dilation = call.per_dim(4, "dilation", pool.windows.size(), Dims(pool.windows.size(), 1));
  if (!dilation || !bind_windows(call, x, pool)) return false;
  for (size_t i = 0; i < dilation->size(); ++i) pool.windows[i].dilation = (*dilation)[i];
  pool.is_max = true;
  return true;
}
bool bind_mean(const Call& call, const TensorMeta& x,
               Pool& pool) {  // (… ceil_mode, count_include_pad, divisor_override)
  const auto counts = call.flag(5, "count_include_pad", true);
  const Arg* divisor = call.arg(6, "divisor_override");
  if (!counts || (divisor && graph::int_arg(divisor).value_or(0) == 0)) return false;
  pool.counts_padding = *counts;
  pool.divisor = divisor ? *graph::int_arg(divisor) : 0;
  return bind_windows(call, x, pool);
}
bool bind_adaptive(const Call& call, const TensorMeta& x, Pool& pool) {  // (x, output_size)
  const auto target = call.per_dim(1, "output_size", pool.windows.size(), {});
  if (!target) return false;
  for (size_t i = 0; i < target->size(); ++i) {
    const int64_t extent = x.sizes[pool.first_dim + i], to = (*target)[i];
    if (to <= 0 || extent % to != 0) return false;
    pool.windows[i] = {extent / to, extent / to, 0, 1, extent};
  }
  return true;
}

struct Rule {
  std::string_view name;
  size_t dims;
  bool (*bind)(const Call& call, const TensorMeta& x, Pool& pool);
};
constexpr Rule kRules[] = {
    {"max_pool1d", 1, &bind_max},
    {"max_pool2d", 2, &bind_max},
    {"max_pool3d", 3, &bind_max},
    {"avg_pool1d", 1, &bind_mean},
    {"avg_pool2d", 2, &bind_mean},
    {"avg_pool3d", 3, &bind_mean},
    {"adaptive_avg_pool1d", 1, &bind_adaptive},
    {"adaptive_avg_pool2d", 2, &bind_adaptive},
    {"adaptive_avg_pool3d", 3, &bind_adaptive},
};

/// Where the taps change along one dim of the result; nothing where a window has none.
std::optional<std::vector<int64_t>> cuts_of(const Window& window, int64_t extent, bool counts_padding) {
  std::vector<int64_t> cuts;
  for (int64_t at = 0; at < extent; ++at) {
    const Window::Taps taps = window.taps(at);
    if (taps.first >= taps.last) return std::nullopt;
    const Window::Taps before = window.taps(std::max<int64_t>(at - 1, 0));
    const bool same = taps.first == before.first && taps.last == before.last;
    if (!same || (counts_padding && taps.padded != before.padded)) cuts.push_back(at);
  }
  return cuts;
}

std::string bind(const graph::Graph& graph, const graph::Node& node, const Rule& rule, Pool& pool) {
  const Call call{node};
  const Arg* input = call.arg(0, "input");
  if (!input) input = call.arg(0, "self");
  if (!input || !input->is_value()) return "no tensor operand";
  pool.input = input->id();
  const graph::Value& value = graph.values[static_cast<size_t>(pool.input)];
  const graph::Value& out = graph.values[static_cast<size_t>(node.outputs[0])];
  const TensorMeta& x = value.meta;
  for (const graph::Value* v : {&value, &out}) {
    if (v->is_scalar || v->meta.device != graph::DeviceKind::kCpu || !v->meta.plain ||
        !graph::is_floating(v->meta.dtype))
      return "a tensor that is not plain";
  }
  if (x.dtype != out.meta.dtype || x.rank() != out.meta.rank() || x.numel() == 0 || out.meta.numel() == 0 ||
      x.rank() < static_cast<int64_t>(rule.dims) || (value.storage == out.storage && value.storage >= 0))
    return "a tensor of another form";
  pool.first_dim = x.sizes.size() - rule.dims;
  pool.windows.resize(rule.dims);
  if (!rule.bind(call, x, pool)) return "arguments of another form";
  if (pool.tap_count() > kMostTaps) return "a large window";
  bool cut = false;
  pool.cuts.resize(x.sizes.size());
  for (size_t i = 0; i < rule.dims; ++i) {
    auto cuts = cuts_of(pool.windows[i], out.meta.sizes[pool.first_dim + i],
                        !pool.is_max && pool.counts_padding && pool.divisor == 0);
    if (!cuts) return "a window beyond the operand";
    cut |= !cuts->empty();
    pool.cuts[pool.first_dim + i] = std::move(*cuts);
  }
  if (!cut) pool.cuts.clear();
  return "";
}

}  // namespace

Window::Taps Window::taps(int64_t at) const {
  const int64_t start = at * stride - padding;
  Taps taps;
  taps.first = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
  taps.last = std::min(kernel, start >= extent ? 0 : (extent - 1 - start) / dilation + 1);
  taps.padded = std::min(start + kernel, extent + padding) - start;
  return taps;
}

int64_t Pool::tap_count() const {
  int64_t n = 1;
  for (const Window& window : windows) n *= window.kernel;
  return n;
}

std::optional<Pool> find_pool(const graph::Graph& graph, int index, std::string* why) {
  const graph::Node& node = graph.nodes[static_cast<size_t>(index)];
  const std::string_view name = node.op ? node.op->name : std::string_view{};
  const Rule* rule =
      std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& r) { return r.name == name; });
  Pool pool;
  if (rule == std::end(kRules)) {
    *why = "pools nothing";
  } else if (node.mutates || node.random || node.ambient || node.multi || node.outputs.size() != 1 ||
             node.outputs[0] == graph::kNoValue) {
    *why = "a call of another form";
  } else if (*why = bind(graph, node, *rule, pool); why->empty()) {
    return pool;
  }
  return {};
}

int lower_pool(const Pool& pool, const std::vector<int64_t>& begin, const std::vector<int>& taps,
               graph::DType out, Builder& b) {
  int result = taps.front();
  if (pool.is_max) {
    // As PyTorch: a later value takes over when it is larger or NaN.
    for (size_t i = 1; i < taps.size(); ++i) {
      const int larger = b.binary(Op::kGt, taps[i], result), nan = b.binary(Op::kNe, taps[i], taps[i]);
      result = b.select(b.binary(Op::kOr, larger, nan), taps[i], result);
    }
    return result;
  }
  for (size_t i = 1; i < taps.size(); ++i) result = b.binary(Op::kAdd, result, taps[i]);
  int64_t divisor = 1;
  for (size_t i = 0; i < pool.windows.size(); ++i) {
    const Window::Taps t = pool.windows[i].taps(begin[pool.first_dim + i]);
    divisor *= pool.counts_padding ? t.padded : t.last - t.first;
  }
  if (pool.divisor != 0) divisor = pool.divisor;
  return b.convert(b.binary(Op::kDiv, result, b.constant(b.type(result), static_cast<double>(divisor))), out);
}

}  // namespace breakline::schedule
