// SPDX-License-Identifier: GPL-3.0-or-later
// Private: the meta-tensor call that decides where no shape rule answers.
#pragma once
#include <span>
#include <variant>

#include "core/torch/registry.h"

namespace breakline::torch {

struct Call {
  const graph::Graph& graph;
  PyObject* callable;
  const CallableInfo& info;
  std::span<const graph::Arg> args;
  std::span<const std::pair<std::string, graph::Arg>> kwargs;
  bool grad_mode;
  std::vector<graph::ValueId> operands;  ///< flattened, in order, each once
};

/// Calls on meta twins with warnings muted and the grad mode set; memoised.
std::variant<Inferred, InferFailure> infer_by_meta(const Call& call);

int64_t meta_call_count();
double meta_call_us();

}  // namespace breakline::torch
