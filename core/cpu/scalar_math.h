// SPDX-License-Identifier: GPL-3.0-or-later
// Functions that generated code calls lane by lane where it has no vector form (float64 functions, huge
// arguments, odd powers).
#pragma once
#include <span>

#include "core/schedule/kernel_ir.h"

namespace breakline::cpu {

struct ScalarFunction {
  schedule::Op op;
  bool f64;
  const char* symbol;
  void* address;  ///< void(T* inout, int n), or void(T* inout, const T* second, int n) for two operands
};
std::span<const ScalarFunction> scalar_functions();

}  // namespace breakline::cpu
