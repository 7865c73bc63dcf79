// SPDX-License-Identifier: GPL-3.0-or-later
// Type promotion: dimensioned tensors beat zero-dimensional ones beat Python numbers, unless of a lower
// category.
#include "core/graph/shape_util.h"

namespace breakline::graph {
namespace {

constexpr DType kUndefined = DType::kOther;

DType promote_defined(DType a, DType b) {
  if (a == kUndefined) return b;
  if (b == kUndefined) return a;
  return promote(a, b);
}

DType complex_of(DType real) {
  if (real == DType::kFloat64) return DType::kComplex128;
  if (real == DType::kFloat16) return DType::kComplex32;
  return DType::kComplex64;
}

DType combine(DType higher, DType lower) {
  if (is_complex(higher)) return higher;
  if (is_floating(higher)) return is_complex(lower) ? complex_of(higher) : higher;
  if (higher == DType::kBool || is_floating(lower) || is_complex(lower))
    return promote_defined(higher, lower);
  return higher != kUndefined ? higher : lower;
}

template <class List>
DType result_of(const List& inputs, DType default_dtype) {
  DType dimensioned = kUndefined, zero = kUndefined, number = kUndefined;
  for (const Input& in : inputs) {
    if (!in.tensor) {
      number = promote_defined(number, is_floating(in.number) ? default_dtype : in.number);
    } else if (in.tensor->rank() > 0) {
      dimensioned = promote_defined(dimensioned, in.tensor->dtype);
    } else {
      zero = promote_defined(zero, in.tensor->dtype);
    }
  }
  return combine(dimensioned, combine(zero, number));
}

}  // namespace

DType result_type(std::initializer_list<Input> inputs, DType default_dtype) {
  return result_of(inputs, default_dtype);
}
DType result_type(const std::vector<Input>& inputs, DType default_dtype) {
  return result_of(inputs, default_dtype);
}

bool can_cast(DType from, DType to) {
  if (is_complex(from) && !is_complex(to)) return false;
  if (is_floating(from) && (is_integral(to) || to == DType::kBool)) return false;
  return from == DType::kBool || to != DType::kBool;
}

}  // namespace breakline::graph
