// SPDX-License-Identifier: GPL-3.0-or-later
// Element types: names, sizes and PyTorch's promotion lattice.
#include "core/graph/dtype.h"

#include <algorithm>
#include <array>

namespace breakline::graph {
namespace {

struct Row {
  DType type;
  int size;
  std::string_view name;
  int category;  // 0 bool, 1 integral, 2 floating, 3 complex
  int order;     // within integers: width in bits; floats: precision rank
};
constexpr std::array<Row, 13> kRows = {{
    {DType::kUInt8, 1, "uint8", 1, 8},
    {DType::kInt8, 1, "int8", 1, 8},
    {DType::kInt16, 2, "int16", 1, 16},
    {DType::kInt32, 4, "int32", 1, 32},
    {DType::kInt64, 8, "int64", 1, 64},
    {DType::kFloat16, 2, "float16", 2, 1},
    {DType::kFloat32, 4, "float32", 2, 2},
    {DType::kFloat64, 8, "float64", 2, 3},
    {DType::kComplex32, 4, "complex32", 3, 1},
    {DType::kComplex64, 8, "complex64", 3, 2},
    {DType::kComplex128, 16, "complex128", 3, 3},
    {DType::kBool, 1, "bool", 0, 1},
    {DType::kBFloat16, 2, "bfloat16", 2, 1},
}};

const Row* row_of(DType t) {
  const auto it = std::find_if(kRows.begin(), kRows.end(), [t](const Row& r) { return r.type == t; });
  return it == kRows.end() ? nullptr : &*it;
}

DType complex_of_rank(int rank) {
  return rank <= 1 ? DType::kComplex32 : rank == 2 ? DType::kComplex64 : DType::kComplex128;
}

}  // namespace

int item_size(DType t) {
  const Row* r = row_of(t);
  return r ? r->size : 0;
}
std::string_view dtype_name(DType t) {
  const Row* r = row_of(t);
  return r ? r->name : "other";
}
bool is_floating(DType t) {
  const Row* r = row_of(t);
  return r && r->category == 2;
}
bool is_complex(DType t) {
  const Row* r = row_of(t);
  return r && r->category == 3;
}
bool is_integral(DType t) {
  const Row* r = row_of(t);
  return r && r->category == 1;
}

DType promote(DType a, DType b) {
  if (a == b) return a;
  const Row *x = row_of(a), *y = row_of(b);
  if (!x || !y) return DType::kOther;
  if (x->category < y->category) std::swap(x, y);
  if (x->category != y->category) {
    if (x->category == 3 &&
        y->category == 2) {  // complex with real: precision of the wider; bfloat16 counts as float32
      const int rank = y->type == DType::kBFloat16 ? 2 : y->order;
      return complex_of_rank(std::max(x->order, rank));
    }
    return x->type;
  }
  if (x->category == 1) {
    if (x->type == DType::kUInt8 || y->type == DType::kUInt8) {
      const Row* other = x->type == DType::kUInt8 ? y : x;
      return other->type == DType::kInt8 ? DType::kInt16 : other->type;
    }
    return x->order >= y->order ? x->type : y->type;
  }
  if (x->category == 2 && x->order == 1 && y->order == 1) return DType::kFloat32;  // float16 with bfloat16
  return x->order >= y->order ? x->type : y->type;
}

}  // namespace breakline::graph
