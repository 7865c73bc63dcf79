// SPDX-License-Identifier: GPL-3.0-or-later
// Are all elements of an index tensor in range? Asked before a kernel reads where they say.
#pragma once
#include "core/graph/graph.h"
#include "core/schedule/schedule.h"

namespace breakline::cpu {

/// `data`: first element of a tensor of `meta`, of int64 or int32. No GIL needed.
bool indices_within(const void* data, const graph::TensorMeta& meta, const schedule::IndexRange& range);

}  // namespace breakline::cpu
