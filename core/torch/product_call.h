// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "core/graph/dtype.h"
#include "core/python/ref.h"

namespace breakline::torch {

/// One strided operand: a vector, a matrix or a stack of matrices. Sizes and strides in elements, of the life
/// of the call's user.
struct Extent {
  std::span<const int64_t> sizes, strides;
};

/// PyTorch's matrix product on bare memory: the routines behind torch.mm, addmm, bmm and baddbmm with `out=`,
/// without the dispatcher, without an allocation. Tensors over the operands' memory are made once and kept
/// while the memory stays.
class ProductCall {
 public:
  /// out = beta * bias + alpha * (a @ b); rank 2 or 3, the same for out, a and b. Without a bias its sizes
  /// are null.
  ProductCall(graph::DType dtype, Extent out, Extent a, Extent b, Extent bias, double alpha, double beta);
  ~ProductCall();
  ProductCall(ProductCall&& other) noexcept;
  ProductCall(const ProductCall&) = delete;
  ProductCall& operator=(const ProductCall&) = delete;

  /// Pointers to first elements. False when PyTorch refused, which sets no error. One thread at a time; with
  /// or without the GIL.
  bool run(void* out, void* a, void* b, void* bias);
  /// The library's product of `a` with a weight packed for `rows` rows, as torch.ops.mkl._mkl_linear: a
  /// handle of a new tensor (for `adopt`), null when PyTorch refused. The others are handles; `bias` may be
  /// null.
  void* run_packed(void* a, void* packed, void* weight, void* bias, int64_t rows);
  /// Whether this build of PyTorch has the routines.
  static bool available();
  static bool packed_available();

 private:
  enum Operand : uint8_t { kOut, kA, kB, kBias, kOperands };
  void* tensor(Operand which, void* data);

  graph::DType dtype_;
  std::array<Extent, kOperands> extents_;
  std::array<void*, kOperands> data_{};
  std::array<void*, kOperands> handles_{};
  double alpha_, beta_;
};

/// The Python tensor of a handle from run_packed, which it takes. New reference, or null with an error set.
/// GIL.
PyObject* adopt(void* handle);

}  // namespace breakline::torch
