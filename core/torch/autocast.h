// SPDX-License-Identifier: GPL-3.0-or-later
// Private: what CPU autocast does to an op. Meta tensors ignore autocast, so inference has to know.
#pragma once
#include <optional>

#include "core/torch/meta_call.h"

namespace breakline::torch {

enum class AutocastPolicy : uint8_t {
  kNone,     ///< the op runs on its operands as they are
  kLower,    ///< floating operands (not float64) are cast to the autocast dtype
  kFloat32,  ///< floating operands (not float64) are cast to float32
  kPromote,  ///< operands are cast to the widest among them
  kUnknown,  ///< not known, or made of inner ops that autocast treats each in its way
};
AutocastPolicy autocast_policy(const CallableInfo& info);

/// The graph that the op sees: `call.graph` with the metadata of its operands after the casts.
graph::Graph after_casts(const Call& call, AutocastPolicy policy, graph::DType lower);

}  // namespace breakline::torch
