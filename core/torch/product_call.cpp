// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/torch/product_call.h"

#include <utility>

#include "core/torch/library.h"

namespace breakline::torch {

bool ProductCall::available() {
  const Library* l = library();
  return l && l->c.from_blob && l->c.mm_out && l->c.bmm_out && l->c.addmm_out && l->c.baddbmm_out;
}

bool ProductCall::packed_available() { return available() && library()->c.mkl_linear && library()->cpp.wrap; }

ProductCall::ProductCall(graph::DType dtype, Extent out, Extent a, Extent b, Extent bias, double alpha,
                         double beta)
    : dtype_(dtype), extents_{out, a, b, bias}, alpha_(alpha), beta_(beta) {}

ProductCall::ProductCall(ProductCall&& other) noexcept
    : dtype_(other.dtype_),
      extents_(other.extents_),
      data_(std::exchange(other.data_, {})),
      handles_(std::exchange(other.handles_, {})),
      alpha_(other.alpha_),
      beta_(other.beta_) {}

ProductCall::~ProductCall() {
  for (void* handle : handles_) {
    if (handle) library()->c.delete_tensor(handle);
  }
}

void* ProductCall::tensor(Operand which, void* data) {
  void*& handle = handles_[which];
  if (handle && data_[which] == data) return handle;
  const CInterface& c = library()->c;
  if (handle) c.delete_tensor(std::exchange(handle, nullptr));
  const Extent& extent = extents_[which];
  constexpr int32_t kCpu = 0;
  if (c.from_blob(data, static_cast<int64_t>(extent.sizes.size()), extent.sizes.data(), extent.strides.data(),
                  0, static_cast<int32_t>(dtype_), kCpu, 0, &handle) != 0)
    handle = nullptr;
  data_[which] = data;
  return handle;
}

bool ProductCall::run(void* out, void* a, void* b, void* bias) {
  const CInterface& c = library()->c;
  void *const to = tensor(kOut, out), *const x = tensor(kA, a), *const y = tensor(kB, b);
  if (!to || !x || !y) return false;
  const bool stack = extents_[kOut].sizes.size() == 3;
  if (!bias) return (stack ? c.bmm_out : c.mm_out)(to, x, y) == 0;
  void* const added = tensor(kBias, bias);
  return added && (stack ? c.baddbmm_out : c.addmm_out)(to, added, x, y, beta_, alpha_) == 0;
}

void* ProductCall::run_packed(void* a, void* packed, void* weight, void* bias, int64_t rows) {
  void *const x = tensor(kA, a), *made = nullptr;
  if (!x || library()->c.mkl_linear(x, packed, weight, bias ? &bias : nullptr, rows, &made) != 0)
    return nullptr;
  return made;
}

PyObject* adopt(void* handle) {
  PyObject* object = library()->cpp.wrap(handle);
  library()->c.delete_tensor(handle);
  return object;
}

}  // namespace breakline::torch
