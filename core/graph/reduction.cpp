// SPDX-License-Identifier: GPL-3.0-or-later
// Reductions over all or some dims, and scans. Results are contiguous.
#include <algorithm>

#include "core/graph/op_families.h"
#include "core/graph/shape_util.h"

namespace breakline::graph {
namespace {

struct Reduced {
  const TensorMeta* x = nullptr;
  Dims sizes;
};

/// `dim`: null or None = all dims.
std::optional<Dims> reduced_sizes(const TensorMeta& x, const Arg* dim, bool keepdim,
                                  bool empty_is_all = true) {
  std::optional<Dims> dims;
  if (!dim || dim->is_none()) {
    dims = Dims{};
  } else {
    dims = dims_arg(dim);
  }
  if (!dims) return std::nullopt;
  const bool all = dims->empty() && (empty_is_all || !dim || dim->is_none());
  const auto wrapped = wrap_dims(*dims, x.rank());
  if (!wrapped) return std::nullopt;
  Dims out;
  for (int64_t d = 0; d < x.rank(); ++d) {
    const bool gone = all || std::find(wrapped->begin(), wrapped->end(), d) != wrapped->end();
    if (!gone) out.push_back(x.sizes[static_cast<size_t>(d)]);
    if (gone && keepdim) out.push_back(1);
  }
  return out;
}

std::optional<bool> flag(const Arg* a, bool otherwise) {
  return !a || a->is_none() ? std::optional(otherwise) : bool_arg(a);
}
const TensorMeta* real_operand(const ShapeCall& call) {
  const TensorMeta* x = call.in_place ? nullptr : tensor_arg(call, call.get(0, "input"));
  return x && !is_complex(x->dtype) ? x : nullptr;
}
DType summed(DType t) { return is_floating(t) ? t : DType::kInt64; }

/// f(x, dim=None, keepdim=False, *, dtype=None)
struct Form {
  const TensorMeta* x = nullptr;
  std::optional<Dims> sizes;
  DTypeAnswer dtype;
  bool whole = false;
};
std::optional<Form> dim_form(const ShapeCall& call) {
  Form f;
  f.x = real_operand(call);
  if (!f.x || !accepts(call, 3, {"input", "dim", "keepdim", "dtype", "axis"})) return std::nullopt;
  const Arg* dim = call.get(1, "dim");
  if (!dim) dim = call.kwarg("axis");
  if (dim && bool_arg(dim)) return std::nullopt;
  const auto keepdim = flag(call.get(2, "keepdim"), false);
  if (!keepdim) return std::nullopt;
  f.whole = !dim || dim->is_none();
  f.sizes = reduced_sizes(*f.x, dim, *keepdim);
  f.dtype = dtype_arg(call.kwarg("dtype"));
  if (!f.sizes || (!f.dtype.absent && (item_size(f.dtype.dtype) == 0 || is_complex(f.dtype.dtype))))
    return std::nullopt;
  return f;
}

Outs sum(const ShapeCall& call, const OpRow&) {
  const auto f = dim_form(call);
  if (!f) return std::nullopt;
  return finish(call, fresh(*f->sizes, f->dtype.absent ? summed(f->x->dtype) : f->dtype.dtype, f->x->device));
}
Outs mean(const ShapeCall& call, const OpRow&) {
  const auto f = dim_form(call);
  if (!f) return std::nullopt;
  const DType t = f->dtype.absent ? f->x->dtype : f->dtype.dtype;
  return is_floating(t) ? finish(call, fresh(*f->sizes, t, f->x->device)) : std::nullopt;
}
Outs prod(const ShapeCall& call, const OpRow& row) {
  const Arg* dim = call.get(1, "dim");
  return dim && !dim->is_none() && !int_arg(dim) ? std::nullopt : sum(call, row);
}
Outs all_any(const ShapeCall& call, const OpRow&) {
  const auto f = dim_form(call);
  if (!f || !f->dtype.absent) return std::nullopt;
  const Arg* dim = call.get(1, "dim");  // an empty tuple reduces nothing here
  if (dim && dim->seq() && dim->seq()->items.empty()) return std::nullopt;
  return finish_no_grad(
      call, fresh(*f->sizes, f->x->dtype == DType::kUInt8 ? DType::kUInt8 : DType::kBool, f->x->device));
}

bool reduces_empty(const TensorMeta& x) { return x.numel() == 0; }

Outs extreme_values(const ShapeCall& call, const OpRow&) {  // amax, amin
  const auto f = dim_form(call);
  if (!f || !f->dtype.absent || reduces_empty(*f->x)) return std::nullopt;
  return finish(call, fresh(*f->sizes, f->x->dtype, f->x->device));
}
Outs argument(const ShapeCall& call, const OpRow&) {  // argmax, argmin
  const auto f = dim_form(call);
  if (!f || !f->dtype.absent || reduces_empty(*f->x) || f->x->dtype == DType::kBool) return std::nullopt;
  const Arg* dim = call.get(1, "dim");
  if (dim && !dim->is_none() && !int_arg(dim)) return std::nullopt;
  return finish_no_grad(call, fresh(*f->sizes, DType::kInt64, f->x->device));
}

/// max(x), max(x, dim, keepdim) -> (values, indices), max(x, other)
Outs max_min(const ShapeCall& call, const OpRow& row) {
  const TensorMeta* x = real_operand(call);
  if (!x || !accepts(call, 3, {"input", "dim", "keepdim", "other"})) return std::nullopt;
  const Arg* second = call.get(1, "dim");
  if (!second) second = call.kwarg("other");
  if (const TensorMeta* other = tensor_arg(call, second)) {
    if (call.args.size() > 2) return std::nullopt;
    const DType common = result_type({Input{x}, Input{other}}, call.default_dtype);
    if (is_complex(common)) return std::nullopt;
    auto m = pointwise_meta({Input{x}, Input{other}}, common, common);
    return m ? finish(call, std::move(*m)) : std::nullopt;
  }
  if (reduces_empty(*x)) return std::nullopt;
  if (!second) return call.kwargs.empty() ? finish(call, fresh({}, x->dtype, x->device)) : std::nullopt;
  const auto keepdim = flag(call.get(2, "keepdim"), false);
  if (!int_arg(second) || !keepdim) return std::nullopt;
  const auto sizes = reduced_sizes(*x, second, *keepdim);
  if (!sizes) return std::nullopt;
  auto values = finish(call, fresh(*sizes, x->dtype, x->device));
  auto indices = finish_no_grad(call, fresh(*sizes, DType::kInt64, x->device));
  if (!values || !indices) return std::nullopt;
  call.returns_named = row.name;
  return std::vector<ShapeOut>{std::move((*values)[0]), std::move((*indices)[0])};
}

/// var, std: (x, unbiased), (x, dim, unbiased, keepdim), (x, dim, *, correction, keepdim)
Outs spread(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = real_operand(call);
  if (!x || !is_floating(x->dtype) ||
      !accepts(call, 4, {"input", "dim", "unbiased", "correction", "keepdim"})) {
    return std::nullopt;
  }
  const Arg* dim = call.get(1, "dim");
  bool keepdim = false;
  if (dim && bool_arg(dim)) {
    if (call.args.size() > 2) return std::nullopt;
    dim = nullptr;
  }
  if (call.args.size() > 2 && !bool_arg(&call.args[2])) return std::nullopt;
  const auto keep = flag(call.args.size() > 3 ? &call.args[3] : call.kwarg("keepdim"), false);
  if (!keep) return std::nullopt;
  keepdim = *keep;
  const auto sizes = reduced_sizes(*x, dim, keepdim);
  return sizes ? finish(call, fresh(*sizes, x->dtype, x->device)) : std::nullopt;
}

Outs logsumexp(const ShapeCall& call, const OpRow&) {
  const auto f = dim_form(call);
  if (!f || f->whole || !f->dtype.absent) return std::nullopt;
  return finish(call,
                fresh(*f->sizes, is_floating(f->x->dtype) ? f->x->dtype : call.default_dtype, f->x->device));
}

/// linalg_vector_norm(x, ord, dim, keepdim, dtype) and torch.norm(x, p, dim, keepdim)
Outs vector_norm(const ShapeCall& call, const OpRow& row) {
  const bool linalg = row.name == "linalg_vector_norm";
  const TensorMeta* x = real_operand(call);
  if (!x || !is_floating(x->dtype) || reduces_empty(*x)) return std::nullopt;
  if (!accepts(call, 4, {"input", "ord", "p", "dim", "keepdim"})) return std::nullopt;
  const Arg* order = call.get(1, linalg ? "ord" : "p");
  const auto* text = order ? std::get_if<std::string>(&order->v) : nullptr;
  if (order && !order->is_none() && !float_arg(order) && !(text && *text == "fro" && !linalg))
    return std::nullopt;
  const auto keepdim = flag(call.get(3, "keepdim"), false);
  const Arg* dim = call.get(2, "dim");
  if (!keepdim) return std::nullopt;
  const auto sizes = reduced_sizes(*x, dim, *keepdim);
  return sizes ? finish(call, fresh(*sizes, x->dtype, x->device)) : std::nullopt;
}

/// cumsum, cumprod
Outs scan(const ShapeCall& call, const OpRow& row) {
  const TensorMeta* x = call.in_place ? nullptr : real_operand(call);
  const Arg* dim = call.get(1, "dim");
  if (!x || !dim || !int_arg(dim) || !wrap_dim(*int_arg(dim), x->rank())) return std::nullopt;
  if (!accepts(call, 2, {"input", "dim", "dtype"})) return std::nullopt;
  const auto dtype = dtype_arg(call.kwarg("dtype"));
  if (!dtype.absent && item_size(dtype.dtype) == 0) return std::nullopt;
  DType t = dtype.absent ? summed(x->dtype) : dtype.dtype;
  if (row.name == "logcumsumexp" && !is_floating(x->dtype)) return std::nullopt;
  return finish(call, fresh(x->sizes, t, x->device));
}
Outs count_nonzero(const ShapeCall& call, const OpRow&) {
  const TensorMeta* x = real_operand(call);
  if (!x || !accepts(call, 2, {"input", "dim"})) return std::nullopt;
  const auto sizes = reduced_sizes(*x, call.get(1, "dim"), false);
  return sizes ? finish_no_grad(call, fresh(*sizes, DType::kInt64, x->device)) : std::nullopt;
}

constexpr OpKind kR = OpKind::kReduction;
constexpr OpRow kRows[] = {
    {.name = "sum", .kind = kR, .rule = sum},
    {.name = "nansum", .kind = kR, .rule = sum},
    {.name = "mean", .kind = kR, .rule = mean},
    {.name = "prod", .kind = kR, .rule = prod},
    {.name = "all", .kind = kR, .rule = all_any},
    {.name = "any", .kind = kR, .rule = all_any},
    {.name = "amax", .kind = kR, .rule = extreme_values},
    {.name = "amin", .kind = kR, .rule = extreme_values},
    {.name = "max", .kind = kR, .rule = max_min},
    {.name = "min", .kind = kR, .rule = max_min},
    {.name = "argmax", .kind = kR, .rule = argument},
    {.name = "argmin", .kind = kR, .rule = argument},
    {.name = "var", .kind = kR, .rule = spread},
    {.name = "std", .kind = kR, .rule = spread},
    {.name = "logsumexp", .kind = kR, .rule = logsumexp},
    {.name = "norm", .kind = kR, .rule = vector_norm},
    {.name = "linalg_vector_norm", .kind = kR, .rule = vector_norm},
    {.name = "count_nonzero", .kind = kR, .rule = count_nonzero},
    {.name = "cumsum", .kind = OpKind::kOther, .rule = scan},
    {.name = "cumprod", .kind = OpKind::kOther, .rule = scan},
    {.name = "logcumsumexp", .kind = OpKind::kOther, .rule = scan},
};

}  // namespace

std::span<const OpRow> reduction_rows() { return kRows; }

}  // namespace breakline::graph
