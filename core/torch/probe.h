// SPDX-License-Identifier: GPL-3.0-or-later
// Private: where things lie inside this build's tensor objects, found and verified on sample tensors at
// start.
#pragma once
#include <vector>

#include "core/torch/library.h"

namespace breakline::torch {

/// Every offset is 0 and every flag false where the probe disagreed with the API on any sample: then the API
/// is used.
struct Layout {
  int object_offset = 0;   ///< of the Tensor inside the Python object
  int key_set_offset = 0;  ///< of the dispatch-key bits inside TensorImpl
  bool fast_requires_grad = false, fast_is_leaf = false, fast_version = false, fast_bump = false;
  /// Metadata inside TensorImpl; meaningful when `direct`. Sizes and strides lie there up to kDirectRank dimensions.
  bool direct = false;
  int rank_offset = 0, sizes_offset = 0, strides_offset = 0, start_offset = 0, dtype_offset = 0, device_offset = 0;
  int autograd_offset = 0;  ///< of the pointer to what autograd keeps of a tensor, null while it keeps nothing
  std::vector<uint64_t> plain_key_sets;      ///< of dense tensors of the devices we handle
  std::vector<uint64_t> inference_key_sets;  ///< those of them that keep no version counter
};
constexpr int64_t kDirectRank = 5;
Layout probe_layout(const Library& library);
/// torch._C._dispatch_keys(tensor).raw_repr(); 0 when that fails.
uint64_t slow_key_set(const Library& library, PyObject* tensor);

}  // namespace breakline::torch
