// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <span>

#include "core/graph/dtype.h"
#include "core/python/ref.h"

namespace breakline::torch {

/// A new uninitialised CPU tensor whose memory, if it can be, is that of an earlier one that nobody holds any
/// more: a page of fresh memory costs a fault when it is first written, which for large results is dearer
/// than the kernel that writes them. The tensor is as new_empty's in every way a program can ask for. New
/// reference; null with an error set on failure. GIL.
///
/// Kept are at most `BREAKLINE_KEPT_MEMORY` MiB in the process (a sixteenth of the machine's memory or 512,
/// whichever is less, where it is not set; 0: nothing), the least recently used go first. `fresh` is called
/// with memory that comes new from the system.
PyObject* new_large(std::span<const int64_t> sizes, std::span<const int64_t> strides, graph::DType dtype,
                    void (*fresh)(void* data, int64_t bytes));

/// Below this many bytes PyTorch's own allocation is as good.
constexpr int64_t kLargeResult = 256 << 10;

/// Bytes held for later results now, those in use by tensors of the program included; for tests and reports.
int64_t kept_bytes();
/// Gives all of it back.
void release_kept_memory();

}  // namespace breakline::torch
