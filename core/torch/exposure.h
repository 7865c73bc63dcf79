// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <memory>

#include "core/python/ref.h"

namespace breakline::torch {

/// How often memory was handed to somebody who can write it without a word to the version counter: by
/// `x.data`, `x.data = y` and `x.numpy()` on any tensor of that storage.
using Exposure = std::shared_ptr<const uint64_t>;

/// Starts to watch the storage of `tensor`; equal for tensors of one storage. From the first call on
/// PyTorch's descriptors of these names are wrapped (they stay the same objects). Null when that is not
/// possible. GIL.
Exposure watch_exposure(PyObject* tensor);

/// How many tensors and storages hold the memory of `tensor`, counted always the same way; -1 when unknown.
/// About 1 µs.
long storage_holders(PyObject* tensor);

}  // namespace breakline::torch
