// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels as GLSL compute text. Sizes and strides are part of the text; element offsets are push constants,
// so that equal layers share a pipeline.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/schedule/kernel_ir.h"
#include "core/vulkan/device.h"

namespace breakline::vulkan {

/// GLSL text with its grid. Binding i is the i-th buffer the emitter was given, inputs first.
struct KernelText {
  std::string glsl;
  uint32_t groups_x = 1, groups_y = 1;
};

/// Element types that kernels read and write on this device.
bool storable(graph::DType dtype, const DeviceTraits& traits);
/// Bits of schedule::RegType for schedule::Options::unsupported_types.
unsigned unsupported_types(const DeviceTraits& traits);

/// One invocation per element (or per four, where all buffers allow it). `offsets`: element offset of each
/// input, then of each output. An error says what the device can't do.
Result<KernelText> emit_pointwise(const schedule::Kernel& kernel, const std::vector<int64_t>& offsets,
                                  const DeviceTraits& traits);

/// out[b, m, n] = beta * bias[…] + alpha * sum over k of a[b, m, k] * c[b, k, n], all float32. Strides in
/// elements; 0 broadcasts.
struct MatmulShape {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  int64_t a_batch = 0, a_m = 0, a_k = 0;
  int64_t b_batch = 0, b_k = 0, b_n = 0;
  bool bias = false;
  int64_t bias_batch = 0, bias_m = 0, bias_n = 0;
  int64_t out_batch = 0, out_m = 0, out_n = 0;
  double alpha = 1, beta = 1;
  bool a_aligned = false, b_aligned = false;  ///< offsets are multiples of 4 elements
};
/// Buffers: a, b, (bias,) out.
KernelText emit_matmul(const MatmulShape& shape, const DeviceTraits& traits);

/// Rows of one length along one dim: softmax, log_softmax, layer_norm, sum, mean.
struct RowShape {
  enum Kind : uint8_t { kSoftmax, kLogSoftmax, kLayerNorm, kSum, kMean, kMax, kMin } kind = kSoftmax;
  std::vector<int64_t> outer;                ///< sizes of the dims that are kept
  std::vector<int64_t> in_strides;           ///< per outer dim
  std::vector<int64_t> out_strides;          ///< per outer dim
  std::vector<int64_t> inner;                ///< sizes of the dims of a row
  std::vector<int64_t> in_inner, out_inner;  ///< strides per inner dim (out_inner unused for reductions)
  bool weight = false, bias = false;         ///< layer_norm; contiguous over a row
  double eps = 1e-5;
};
/// Buffers: in, (weight,) (bias,) out. float32. An error when rows are too long for the device's loops.
Result<KernelText> emit_rows(const RowShape& shape, const DeviceTraits& traits);

}  // namespace breakline::vulkan
