// SPDX-License-Identifier: GPL-3.0-or-later
// Convolutions and pooling. Channels-last results come from channels-last operands, as the CPU back ends
// choose.
#include <algorithm>

#include "core/graph/op_families.h"
#include "core/graph/shape_util.h"

namespace breakline::graph {
namespace {

/// A parameter given as one int or one per spatial dim.
std::optional<Dims> per_dim(const Arg* arg, int64_t otherwise, size_t n) {
  if (!arg || arg->is_none()) return Dims(n, otherwise);
  auto dims = dims_arg(arg);
  if (!dims) return std::nullopt;
  if (dims->size() == 1) dims->resize(n, (*dims)[0]);
  return dims->size() == n ? dims : std::nullopt;
}

/// Total padding per spatial dim (both sides together) of "same" / "valid" / numbers.
std::optional<Dims> total_padding(const Arg* arg, const Dims& kernel, const Dims& dilation,
                                  const Dims& stride) {
  if (const auto* text = arg ? std::get_if<std::string>(&arg->v) : nullptr) {
    Dims out(kernel.size(), 0);
    if (*text == "valid") return out;
    if (*text != "same") return std::nullopt;
    for (size_t i = 0; i < kernel.size(); ++i) {
      if (stride[i] != 1) return std::nullopt;
      out[i] = dilation[i] * (kernel[i] - 1);
    }
    return out;
  }
  auto out = per_dim(arg, 0, kernel.size());
  if (!out) return std::nullopt;
  for (int64_t& p : *out) {
    if (p < 0) return std::nullopt;
    p *= 2;
  }
  return out;
}

bool exact_but_ambiguous(const TensorMeta& m) {
  const bool exact = is_channels_last(m.sizes, m.strides) || is_channels_last_3d(m.sizes, m.strides);
  return exact && !suggests_channels_last(m.sizes, m.strides) && !is_contiguous(m.sizes, m.strides);
}

/// One-dimensional ops run as two-dimensional ones on x.unsqueeze(-2), whose layout may read as
/// channels-last.
bool ambiguous_row(const TensorMeta& m) {
  Dims sizes = m.sizes, strides = m.strides;
  insert_dim(sizes, strides, sizes.size() - 1);
  return suggests_channels_last(sizes, strides);
}

/// convNd(x [N, C, …], weight [O, C / groups, …], bias, stride, padding, dilation, groups)
Outs conv(const ShapeCall& call, const OpRow& row) {
  const int64_t spatial = row.name == "conv1d" ? 1 : row.name == "conv2d" ? 2 : 3;
  if (!accepts(call, 7, {"input", "weight", "bias", "stride", "padding", "dilation", "groups"}))
    return std::nullopt;
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  const TensorMeta* w = tensor_arg(call, call.get(1, "weight"));
  if (!x || !w || x->rank() != spatial + 2 || w->rank() != x->rank() || x->dtype != w->dtype ||
      !is_floating(x->dtype)) {
    return std::nullopt;
  }
  if (x->numel() == 0 || w->numel() == 0 || x->device != w->device) return std::nullopt;
  const Arg* bias = call.get(2, "bias");
  if (bias && !bias->is_none()) {
    const TensorMeta* b = tensor_arg(call, bias);
    if (!b || b->rank() != 1 || b->sizes[0] != w->sizes[0] || b->dtype != x->dtype) return std::nullopt;
  }
  const auto n = static_cast<size_t>(spatial);
  const Dims kernel(w->sizes.begin() + 2, w->sizes.end());
  const auto stride = per_dim(call.get(3, "stride"), 1, n), dilation = per_dim(call.get(5, "dilation"), 1, n);
  const Arg* group_arg = call.get(6, "groups");
  const auto groups = group_arg ? int_arg(group_arg) : std::optional<int64_t>(1);
  if (!stride || !dilation || !groups || *groups <= 0) return std::nullopt;
  const auto padding = total_padding(call.get(4, "padding"), kernel, *dilation, *stride);
  if (!padding || x->sizes[1] != w->sizes[1] * *groups || w->sizes[0] % *groups) return std::nullopt;
  Dims sizes = {x->sizes[0], w->sizes[0]};
  for (size_t i = 0; i < n; ++i) {
    if ((*stride)[i] <= 0 || (*dilation)[i] <= 0) return std::nullopt;
    const int64_t room = x->sizes[i + 2] + (*padding)[i] - (*dilation)[i] * (kernel[i] - 1) - 1;
    if (room < 0) return std::nullopt;
    sizes.push_back(room / (*stride)[i] + 1);
  }
  TensorMeta m = fresh(sizes, x->dtype, x->device);
  const bool plain = is_contiguous(x->sizes, x->strides) && is_contiguous(w->sizes, w->strides);
  if (spatial == 3 && (!plain || suggests_channels_last(x->sizes, x->strides) || suggests_channels_last(w->sizes, w->strides)))
    return std::nullopt;
  if (spatial == 1) {
    if (!is_contiguous(w->sizes, w->strides) || ambiguous_row(*w)) return std::nullopt;
    if (is_contiguous(x->sizes, x->strides) && ambiguous_row(*x)) return std::nullopt;
  } else if (suggests_channels_last(x->sizes, x->strides) || suggests_channels_last(w->sizes, w->strides)) {
    m.strides = channels_last_strides(sizes);
  } else if (!plain && (exact_but_ambiguous(*x) || exact_but_ambiguous(*w))) {
    return std::nullopt;
  }
  return finish(call, std::move(m));
}

int64_t pooled(int64_t size, int64_t kernel, int64_t padding, int64_t stride, int64_t dilation,
               bool ceil_mode) {
  const int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
  if (room < 0) return 0;
  int64_t out = room / stride + 1;
  if (ceil_mode && (out - 1) * stride >= size + padding) --out;  // the last window must start inside
  return out;
}

struct Window {
  Dims kernel, stride, padding, dilation;
  bool ceil_mode = false;
};
Outs pool(const ShapeCall& call, const TensorMeta& x, const Window& w, bool keeps_format) {
  const size_t n = w.kernel.size();
  const size_t lead = x.sizes.size() - n;
  Dims sizes(x.sizes.begin(), x.sizes.begin() + static_cast<std::ptrdiff_t>(lead));
  for (size_t i = 0; i < n; ++i) {
    if (w.kernel[i] <= 0 || w.stride[i] <= 0 || w.dilation[i] <= 0 || w.padding[i] < 0 ||
        w.padding[i] * 2 > w.kernel[i]) {
      return std::nullopt;
    }
    sizes.push_back(
        pooled(x.sizes[lead + i], w.kernel[i], w.padding[i], w.stride[i], w.dilation[i], w.ceil_mode));
    if (sizes.back() < 1) return std::nullopt;
  }
  TensorMeta m = fresh(sizes, x.dtype, x.device);
  if (keeps_format && suggests_channels_last(x.sizes, x.strides)) m.strides = channels_last_strides(sizes);
  if (exact_but_ambiguous(x)) return std::nullopt;
  return finish(call, std::move(m));
}

/// Volumes of other layouts and dtypes take ways of their own.
bool plain_volume(const TensorMeta& m) {
  return (m.dtype == DType::kFloat32 || m.dtype == DType::kFloat64) && is_contiguous(m.sizes, m.strides) &&
         !suggests_channels_last(m.sizes, m.strides);
}

/// The digit before the last letter of the op's name: max_pool3d.
size_t spatial_dims(const OpRow& row) { return static_cast<size_t>(row.name[row.name.size() - 2] - '0'); }

/// Operand of a pooling op with `n` spatial dims, batched or not.
const TensorMeta* pool_input(const ShapeCall& call, size_t n) {
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  if (!x || !is_floating(x->dtype) || x->numel() == 0) return nullptr;
  const auto rank = static_cast<size_t>(x->rank());
  if (rank != n + 2 && rank != n + 1) return nullptr;
  if (n == 3 && !plain_volume(*x)) return nullptr;
  return n == 1 && ambiguous_row(*x) ? nullptr : x;
}
std::optional<bool> flag(const Arg* a, bool otherwise) {
  return !a || a->is_none() ? std::optional(otherwise) : bool_arg(a);
}

std::optional<Window> window(const ShapeCall& call, size_t n) {
  Window w;
  const auto kernel = per_dim(call.get(1, "kernel_size"), -1, n);
  const Arg* step = call.get(2, "stride");
  const auto* empty = step ? step->seq() : nullptr;
  const auto stride =
      !step || step->is_none() || (empty && empty->items.empty()) ? kernel : per_dim(step, 1, n);
  const auto padding = per_dim(call.get(3, "padding"), 0, n);
  if (!kernel || !stride || !padding) return std::nullopt;
  w.kernel = *kernel;
  w.stride = *stride;
  w.padding = *padding;
  w.dilation = Dims(n, 1);
  return w;
}
/// max_poolNd(x, kernel_size, stride, padding, dilation, ceil_mode)
Outs max_pool(const ShapeCall& call, const OpRow& row) {
  const size_t n = spatial_dims(row);
  if (!accepts(call, 6, {"input", "kernel_size", "stride", "padding", "dilation", "ceil_mode"}))
    return std::nullopt;
  const TensorMeta* x = pool_input(call, n);
  auto w = x ? window(call, n) : std::nullopt;
  const auto dilation = per_dim(call.get(4, "dilation"), 1, n);
  const auto ceil_mode = flag(call.get(5, "ceil_mode"), false);
  if (!w || !dilation || !ceil_mode) return std::nullopt;
  w->dilation = *dilation;
  w->ceil_mode = *ceil_mode;
  return pool(call, *x, *w, n >= 2);
}
/// avg_poolNd(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
Outs avg_pool(const ShapeCall& call, const OpRow& row) {
  const size_t n = spatial_dims(row);
  if (!accepts(call, 7,
               {"input", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad",
                "divisor_override"})) {
    return std::nullopt;
  }
  const TensorMeta* x = pool_input(call, n);
  auto w = x ? window(call, n) : std::nullopt;
  const auto ceil_mode = flag(call.get(4, "ceil_mode"), false);
  if (!w || !ceil_mode) return std::nullopt;
  w->ceil_mode = *ceil_mode;
  return pool(call, *x, *w, n >= 2);
}
/// adaptive_avg_poolNd(x, output_size)
Outs adaptive(const ShapeCall& call, const OpRow& row) {
  const size_t n = spatial_dims(row);
  if (!accepts(call, 2, {"input", "output_size"})) return std::nullopt;
  const TensorMeta* x = pool_input(call, n);
  const auto target = per_dim(call.get(1, "output_size"), -1, n);
  if (!x || !target) return std::nullopt;
  Dims sizes(x->sizes.begin(), x->sizes.end() - static_cast<std::ptrdiff_t>(n));
  for (int64_t s : *target) {
    if (s <= 0) return std::nullopt;
    sizes.push_back(s);
  }
  TensorMeta m = fresh(sizes, x->dtype, x->device);
  if (n >= 2 && suggests_channels_last(x->sizes, x->strides)) m.strides = channels_last_strides(sizes);
  if (exact_but_ambiguous(*x)) return std::nullopt;
  return finish(call, std::move(m));
}

/// upsample_…(x, output_size, [align_corners,] scale_factors): one of sizes and factors is None.
Outs upsample(const ShapeCall& call, const OpRow& row) {
  const size_t n = spatial_dims(row);
  const bool nearest = row.name.find("nearest") != std::string_view::npos;
  if (!accepts(call, nearest ? 3 : 4, {"input", "output_size", "align_corners", "scale_factors"})) return std::nullopt;
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  if (!x || !is_floating(x->dtype) || x->numel() == 0 || x->rank() != static_cast<int64_t>(n) + 2) return std::nullopt;
  if (!nearest && !bool_arg(call.get(2, "align_corners"))) return std::nullopt;
  const Arg* target = call.get(1, "output_size");
  const Arg* factors = call.get(nearest ? 2 : 3, "scale_factors");
  const bool by_factor = !target || target->is_none();
  if (by_factor != (factors && !factors->is_none())) return std::nullopt;
  Dims sizes = {x->sizes[0], x->sizes[1]};
  if (by_factor) {
    const ArgSeq* list = factors->seq();
    if (!list || list->items.size() != n) return std::nullopt;
    for (size_t i = 0; i < n; ++i) {
      const auto f = float_arg(&list->items[i]);
      if (!f) return std::nullopt;
      sizes.push_back(static_cast<int64_t>(static_cast<double>(x->sizes[i + 2]) * *f));
    }
  } else {
    const auto given = dims_arg(target);
    if (!given || given->size() != n) return std::nullopt;
    sizes.insert(sizes.end(), given->begin(), given->end());
  }
  if (std::any_of(sizes.begin(), sizes.end(), [](int64_t s) { return s <= 0; })) return std::nullopt;
  TensorMeta m = fresh(sizes, x->dtype, x->device);
  if (n >= 2 && suggests_channels_last(x->sizes, x->strides)) m.strides = channels_last_strides(sizes);
  if (n >= 2 && exact_but_ambiguous(*x)) return std::nullopt;
  return finish(call, std::move(m));
}

/// conv_transposeNd(x [N, C, …], weight [C, O / groups, …], bias, stride, padding, output_padding, groups, dilation)
Outs conv_transpose(const ShapeCall& call, const OpRow& row) {
  const size_t n = spatial_dims(row);
  if (!accepts(call, 8, {"input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation"})) return std::nullopt;
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  const TensorMeta* w = tensor_arg(call, call.get(1, "weight"));
  if (!x || !w || x->rank() != static_cast<int64_t>(n) + 2 || w->rank() != x->rank() || x->dtype != w->dtype || !is_floating(x->dtype))
    return std::nullopt;
  // What the layout follows from is the back end's choice elsewhere.
  if (x->numel() == 0 || w->numel() == 0 || !is_contiguous(x->sizes, x->strides) || !is_contiguous(w->sizes, w->strides)) return std::nullopt;
  if (suggests_channels_last(x->sizes, x->strides) || suggests_channels_last(w->sizes, w->strides)) return std::nullopt;
  if (n == 1 && (ambiguous_row(*x) || ambiguous_row(*w))) return std::nullopt;
  const Arg* group_arg = call.get(6, "groups");
  const auto groups = group_arg ? int_arg(group_arg) : std::optional<int64_t>(1);
  const auto stride = per_dim(call.get(3, "stride"), 1, n), padding = per_dim(call.get(4, "padding"), 0, n),
             extra = per_dim(call.get(5, "output_padding"), 0, n), dilation = per_dim(call.get(7, "dilation"), 1, n);
  if (!groups || *groups <= 0 || !stride || !padding || !extra || !dilation || x->sizes[1] != w->sizes[0] || w->sizes[0] % *groups)
    return std::nullopt;
  const Arg* bias = call.get(2, "bias");
  if (bias && !bias->is_none()) {
    const TensorMeta* b = tensor_arg(call, bias);
    if (!b || b->rank() != 1 || b->sizes[0] != w->sizes[1] * *groups || b->dtype != x->dtype) return std::nullopt;
  }
  Dims sizes = {x->sizes[0], w->sizes[1] * *groups};
  for (size_t i = 0; i < n; ++i) {
    if ((*stride)[i] <= 0 || (*dilation)[i] <= 0 || (*padding)[i] < 0 || (*extra)[i] < 0) return std::nullopt;
    if ((*extra)[i] >= std::max((*stride)[i], (*dilation)[i])) return std::nullopt;
    sizes.push_back((x->sizes[i + 2] - 1) * (*stride)[i] - 2 * (*padding)[i] + (*dilation)[i] * (w->sizes[i + 2] - 1) + (*extra)[i] + 1);
    if (sizes.back() <= 0) return std::nullopt;
  }
  return finish(call, fresh(sizes, x->dtype, x->device));
}

constexpr OpRow kRows[] = {
    {.name = "conv1d", .kind = OpKind::kConv, .rule = conv},
    {.name = "conv2d", .kind = OpKind::kConv, .rule = conv},
    {.name = "conv3d", .kind = OpKind::kConv, .rule = conv},
    {.name = "conv_transpose1d", .kind = OpKind::kConv, .rule = conv_transpose},
    {.name = "conv_transpose2d", .kind = OpKind::kConv, .rule = conv_transpose},
    {.name = "conv_transpose3d", .kind = OpKind::kConv, .rule = conv_transpose},
    {.name = "max_pool1d", .kind = OpKind::kPool, .rule = max_pool},
    {.name = "max_pool2d", .kind = OpKind::kPool, .rule = max_pool},
    {.name = "max_pool3d", .kind = OpKind::kPool, .rule = max_pool},
    {.name = "avg_pool1d", .kind = OpKind::kPool, .rule = avg_pool},
    {.name = "avg_pool2d", .kind = OpKind::kPool, .rule = avg_pool},
    {.name = "avg_pool3d", .kind = OpKind::kPool, .rule = avg_pool},
    {.name = "adaptive_avg_pool1d", .kind = OpKind::kPool, .rule = adaptive},
    {.name = "adaptive_avg_pool2d", .kind = OpKind::kPool, .rule = adaptive},
    {.name = "adaptive_avg_pool3d", .kind = OpKind::kPool, .rule = adaptive},
    {.name = "upsample_nearest1d", .kind = OpKind::kOther, .rule = upsample},
    {.name = "upsample_nearest2d", .kind = OpKind::kOther, .rule = upsample},
    {.name = "upsample_nearest3d", .kind = OpKind::kOther, .rule = upsample},
    {.name = "upsample_linear1d", .kind = OpKind::kOther, .rule = upsample},
    {.name = "upsample_bilinear2d", .kind = OpKind::kOther, .rule = upsample},
    {.name = "upsample_bicubic2d", .kind = OpKind::kOther, .rule = upsample},
    {.name = "upsample_trilinear3d", .kind = OpKind::kOther, .rule = upsample},
};

}  // namespace

std::span<const OpRow> conv_pool_rows() { return kRows; }

}  // namespace breakline::graph
