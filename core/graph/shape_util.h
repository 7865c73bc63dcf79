// SPDX-License-Identifier: GPL-3.0-or-later
// What shape rules share: reading operands, broadcasting, type promotion, layouts as TensorIterator gives
// them. Source of the behaviour: PyTorch's TensorIterator (layout and promotion), ExpandUtils (dense
// strides), measured against the real ops in tests/differential/shapes.
#pragma once
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "core/graph/op_table.h"

namespace breakline::graph {

using Dims = std::vector<int64_t>;
using Outs = std::optional<std::vector<ShapeOut>>;

// --- operands

/// A tensor, or a Python number (`tensor` null).
struct Input {
  const TensorMeta* tensor = nullptr;
  DType number = DType::kOther;  ///< kInt64, kFloat64 or kBool when it is a number
};
/// Null for anything but a tensor value.
const TensorMeta* tensor_arg(const ShapeCall& call, const Arg* arg);
/// Tensor, constant number or dynamic scalar.
std::optional<Input> input_arg(const ShapeCall& call, const Arg* arg);
std::optional<int64_t> int_arg(const Arg* arg);
std::optional<bool> bool_arg(const Arg* arg);
std::optional<double> float_arg(const Arg* arg);  ///< int or float
/// One int or a sequence of ints.
std::optional<Dims> dims_arg(const Arg* arg);
/// A variadic size list: `f(x, 2, 3)` or `f(x, (2, 3))`, from positional `first` on, else keyword `name`.
std::optional<Dims> variadic_dims(const ShapeCall& call, size_t first, std::string_view name);
/// A dtype operand: kOther when it is not one, nullopt-like `absent` when missing or None.
struct DTypeAnswer {
  bool absent = true;
  DType dtype = DType::kOther;
};
DTypeAnswer dtype_arg(const Arg* arg);
/// True when `call` has at most `positional` positional operands and no keyword outside `names` except those
/// given None.
bool accepts(const ShapeCall& call, size_t positional, std::initializer_list<std::string_view> names);

// --- dims

/// Wraps a negative dim; nullopt when out of range (rank 0 counts as rank 1).
std::optional<int64_t> wrap_dim(int64_t dim, int64_t rank);
std::optional<Dims> wrap_dims(const Dims& dims, int64_t rank);
std::optional<Dims> broadcast(const Dims& a, const Dims& b);
int64_t numel_of(const Dims& sizes);
/// -1 in `shape` filled in; nullopt when it does not fit.
std::optional<Dims> infer_size(const Dims& shape, int64_t numel);

// --- layout

bool is_contiguous(const Dims& sizes, const Dims& strides);
bool is_channels_last(const Dims& sizes, const Dims& strides);     ///< rank 4
bool is_channels_last_3d(const Dims& sizes, const Dims& strides);  ///< rank 5
Dims channels_last_strides(const Dims& sizes);                     ///< rank 4 or 5
bool is_dense(const Dims& sizes, const Dims& strides);             ///< non-overlapping and dense
/// Strides of empty_like / clone / to with memory_format=preserve.
Dims preserved_strides(const Dims& sizes, const Dims& strides);
/// suggest_memory_format() is channels_last (or channels_last_3d).
bool suggests_channels_last(const Dims& sizes, const Dims& strides);
/// Adds a dim of size 1 at `at`, as unsqueeze does.
void insert_dim(Dims& sizes, Dims& strides, size_t at);
/// Strides of a view of (sizes, strides) as `shape`, or nullopt when it needs a copy.
std::optional<Dims> view_strides(const Dims& sizes, const Dims& strides, const Dims& shape);

// --- dtypes

/// result_type of the inputs: categories tensor > 0-dim tensor > number.
DType result_type(std::initializer_list<Input> inputs, DType default_dtype);
DType result_type(const std::vector<Input>& inputs, DType default_dtype);
bool can_cast(DType from, DType to);

// --- results

/// Fresh contiguous metadata on operand 0's device.
TensorMeta fresh(const Dims& sizes, DType dtype, DeviceKind device);
/// Result metadata of a pointwise op: inputs (numbers allowed) broadcast, strides as TensorIterator makes
/// them. `computed` is the dtype inputs are cast to first (kOther: none are), `out` the result's.
std::optional<TensorMeta> pointwise_meta(const std::vector<Input>& inputs, DType computed, DType out);
/// True when grad mode is on and an operand that is a tensor requires grad.
bool any_requires_grad(const ShapeCall& call);

/// One fresh output: sets requires_grad and leaf; for an in-place call checks that operand 0 can take it and
/// returns it.
Outs finish(const ShapeCall& call, TensorMeta out);
/// Same, but only `source` hands on its need of grad (other operands give a dtype or a shape).
Outs finish_from(const ShapeCall& call, TensorMeta out, const TensorMeta& source);
/// Same, but the output never requires grad (argmax, comparisons …; integer results never do anyway).
Outs finish_no_grad(const ShapeCall& call, TensorMeta out);
/// Output that shares the storage of operand `alias` (a view).
ShapeOut view_of(const ShapeCall& call, size_t alias, Dims sizes, Dims strides, int64_t storage_offset);
inline Outs one(ShapeOut out) { return std::vector<ShapeOut>{std::move(out)}; }
/// The operand itself.
ShapeOut same(const ShapeCall& call, size_t operand);

}  // namespace breakline::graph
