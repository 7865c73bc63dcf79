// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/trace/tracer.h"

namespace breakline::trace {

/// What a forward of an autograd.Function was given and returned, and what its context says of it.
struct FunctionResults {
  Values operands, results, dirty, fixed;
};

/// Ways to make tensors that are said by others.
struct TensorForms {
  /// torch.Tensor(…), torch.FloatTensor(…) of numbers or sizes as torch.tensor or torch.empty; null for other
  /// calls.
  static Value* legacy_tensor(Tracer& t, PyObject* type, const Values& args, const Keywords& keywords);
  /// A scalar of numpy's whose number is another one in each variant becomes an operand that only its type is known of.
  static bool scalar_as_input(Tracer& t, Value* v);
  /// abs() of an object that a node makes; null where it is not known.
  static Value* absolute_made(Tracer& t, Value* v);
  /// A node that makes a tensor of a class of another: a view of it, or with `leaf`, the answer for requires_grad, one with no history.
  static Value* of_class(Tracer& t, PyObject* callable, PyTypeObject* type, Value* tensor, PyObject* leaf);
  /// Tensor.__new__(Class, tensor) and Tensor._make_subclass(Class, tensor, …); null for other functions and operands.
  static Value* subclass_function(Tracer& t, PyObject* function, const Values& args, const Keywords& keywords);
  /// Class(…) of a traced class of tensors: its __new__, then its __init__; null where that is not known.
  static Value* instance_of_subclass(Tracer& t, PyTypeObject* type, const Values& args, const Keywords& keywords);
  /// Whether autograd's treatment of a forward's result can be followed.
  static bool function_result_is_known(Tracer& t, Value* v, const FunctionResults& of);
  /// The value that stands for a forward's result after the node that is being made.
  static Value* function_result(Tracer& t, Value* v, const FunctionResults& of);
};

}  // namespace breakline::trace
