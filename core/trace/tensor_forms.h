// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/trace/tracer.h"

namespace breakline::trace {

/// Ways to make tensors that are said by others.
struct TensorForms {
  /// torch.Tensor(…), torch.FloatTensor(…) of numbers or sizes as torch.tensor or torch.empty; null for other
  /// calls.
  static Value* legacy_tensor(Tracer& t, PyObject* type, const Values& args, const Keywords& keywords);
};

}  // namespace breakline::trace
