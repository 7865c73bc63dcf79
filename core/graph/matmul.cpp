// SPDX-License-Identifier: GPL-3.0-or-later
// Matrix products. Results are contiguous, except where PyTorch folds a transposed batch (left to the meta
// call).
#include <algorithm>

#include "core/graph/op_families.h"
#include "core/graph/shape_util.h"

namespace breakline::graph {
namespace {

const TensorMeta* matrix(const ShapeCall& call, size_t i, std::string_view name, int64_t rank) {
  const TensorMeta* x = tensor_arg(call, call.get(i, name));
  return x && x->rank() == rank && !is_complex(x->dtype) ? x : nullptr;
}
bool compatible(const TensorMeta* a, const TensorMeta* b) {
  return a && b && a->dtype == b->dtype && a->device == b->device;
}

Outs mm(const ShapeCall& call, const OpRow&) {
  const TensorMeta *a = matrix(call, 0, "input", 2), *b = matrix(call, 1, "mat2", 2);
  if (call.in_place || !compatible(a, b) || a->sizes[1] != b->sizes[0] ||
      !accepts(call, 2, {"input", "mat2"}))
    return std::nullopt;
  return finish(call, fresh({a->sizes[0], b->sizes[1]}, a->dtype, a->device));
}
Outs bmm(const ShapeCall& call, const OpRow&) {
  const TensorMeta *a = matrix(call, 0, "input", 3), *b = matrix(call, 1, "mat2", 3);
  if (call.in_place || !compatible(a, b) || !accepts(call, 2, {"input", "mat2"})) return std::nullopt;
  if (a->sizes[0] != b->sizes[0] || a->sizes[2] != b->sizes[1]) return std::nullopt;
  return finish(call, fresh({a->sizes[0], a->sizes[1], b->sizes[2]}, a->dtype, a->device));
}
Outs mv(const ShapeCall& call, const OpRow&) {
  const TensorMeta *a = matrix(call, 0, "input", 2), *b = matrix(call, 1, "vec", 1);
  if (!compatible(a, b) || a->sizes[1] != b->sizes[0] || !accepts(call, 2, {"input", "vec"}))
    return std::nullopt;
  return finish(call, fresh({a->sizes[0]}, a->dtype, a->device));
}
Outs dot(const ShapeCall& call, const OpRow&) {
  const TensorMeta *a = matrix(call, 0, "input", 1), *b = matrix(call, 1, "tensor", 1);
  if (!compatible(a, b) || a->sizes != b->sizes || !accepts(call, 2, {"input", "tensor"}))
    return std::nullopt;
  return finish(call, fresh({}, a->dtype, a->device));
}
/// addmm(bias, a, b), baddbmm(bias, a, b): beta and alpha are numbers.
Outs add_product(const ShapeCall& call, const OpRow& row) {
  const int64_t rank = row.name == "baddbmm" ? 3 : 2;
  const TensorMeta* bias = tensor_arg(call, call.get(0, "input"));
  const TensorMeta* a = matrix(call, 1, rank == 3 ? "batch1" : "mat1", rank);
  const TensorMeta* b = matrix(call, 2, rank == 3 ? "batch2" : "mat2", rank);
  if (!bias || !compatible(a, b) || !compatible(bias, a)) return std::nullopt;
  if (!accepts(call, 3, {"input", "mat1", "mat2", "batch1", "batch2", "beta", "alpha"})) return std::nullopt;
  const auto last = static_cast<size_t>(rank - 1);
  if (a->sizes[last] != b->sizes[last - 1] || (rank == 3 && a->sizes[0] != b->sizes[0])) return std::nullopt;
  Dims sizes = a->sizes;
  sizes[last] = b->sizes[last];
  const auto joined = broadcast(sizes, bias->sizes);
  if (!joined || *joined != sizes) return std::nullopt;
  return finish(call, fresh(sizes, a->dtype, a->device));
}

Outs matmul(const ShapeCall& call, const OpRow&) {
  if (call.in_place || !accepts(call, 2, {"input", "other"})) return std::nullopt;
  const TensorMeta* a = tensor_arg(call, call.get(0, "input"));
  const TensorMeta* b = tensor_arg(call, call.get(1, "other"));
  if (!compatible(a, b) || a->rank() == 0 || b->rank() == 0 || is_complex(a->dtype)) return std::nullopt;
  // PyTorch folds the batch of `b` into a transposed matrix here; the layout of that is the meta call's
  // business.
  if (a->rank() <= 2 && b->rank() > 2) return std::nullopt;
  const int64_t inner = b->rank() == 1 ? b->sizes[0] : b->sizes[static_cast<size_t>(b->rank() - 2)];
  if (a->sizes.back() != inner) return std::nullopt;
  Dims batch_a(a->sizes.begin(), a->sizes.end() - std::min<int64_t>(a->rank(), 2));
  Dims batch_b(b->sizes.begin(), b->sizes.end() - std::min<int64_t>(b->rank(), 2));
  auto sizes = broadcast(batch_a, batch_b);
  if (!sizes) return std::nullopt;
  if (a->rank() > 1) sizes->push_back(a->sizes[static_cast<size_t>(a->rank() - 2)]);
  if (b->rank() > 1) sizes->push_back(b->sizes.back());
  return finish(call, fresh(*sizes, a->dtype, a->device));
}

/// linear(x, weight [out, in], bias [out] or None)
Outs linear(const ShapeCall& call, const OpRow&) {
  if (!accepts(call, 3, {"input", "weight", "bias"})) return std::nullopt;
  const TensorMeta* x = tensor_arg(call, call.get(0, "input"));
  const TensorMeta* w = matrix(call, 1, "weight", 2);
  const Arg* bias = call.get(2, "bias");
  if (!compatible(x, w) || x->rank() == 0 || x->sizes.back() != w->sizes[1]) return std::nullopt;
  if (bias && !bias->is_none()) {
    const TensorMeta* b = matrix(call, 2, "bias", 1);
    if (!compatible(x, b) || b->sizes[0] != w->sizes[0]) return std::nullopt;
  }
  Dims sizes = x->sizes;
  sizes.back() = w->sizes[0];
  return finish(call, fresh(sizes, x->dtype, x->device));
}

constexpr OpKind kM = OpKind::kMatmul;
constexpr OpRow kRows[] = {
    {.name = "mm", .kind = kM, .rule = mm},
    {.name = "bmm", .kind = kM, .rule = bmm},
    {.name = "mv", .kind = kM, .rule = mv},
    {.name = "dot", .kind = kM, .rule = dot},
    {.name = "addmm", .kind = kM, .rule = add_product},
    {.name = "baddbmm", .kind = kM, .rule = add_product},
    {.name = "matmul", .kind = kM, .rule = matmul, .aliases = "__matmul__ linalg_matmul"},
    {.name = "linear", .kind = kM, .rule = linear},
};

}  // namespace

std::span<const OpRow> matmul_rows() { return kRows; }

}  // namespace breakline::graph
