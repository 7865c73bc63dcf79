// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string_view>

namespace breakline::graph {

/// Element types with the numbers of PyTorch's ScalarType (a stable part of its C interface).
enum class DType : int8_t {
  kUInt8 = 0,
  kInt8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kFloat16 = 5,
  kFloat32 = 6,
  kFloat64 = 7,
  kComplex32 = 8,
  kComplex64 = 9,
  kComplex128 = 10,
  kBool = 11,
  kBFloat16 = 15,
  kOther = 127,
};

/// Bytes per element; 0 for kOther.
int item_size(DType t);
/// "float32", "int64", … as torch prints it without "torch.".
std::string_view dtype_name(DType t);
bool is_floating(DType t);
bool is_complex(DType t);
/// Integers without bool.
bool is_integral(DType t);
/// PyTorch's promotion of two tensor dtypes of the same category level.
DType promote(DType a, DType b);

}  // namespace breakline::graph
