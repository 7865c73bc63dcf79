// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include "core/python/ref.h"
#include "core/trace/value.h"

namespace breakline::trace {

/// A Python function whose author says that its answer is fixed for the process (assume_constant_result and what libraries write by hand).
bool is_marked_constant(PyObject* function);
/// A Python function that only computes from its arguments and constants, as far as its code shows.
bool acts_on_nothing_outside(PyObject* function);
/// True for files that are neither of the standard library, nor of torch, nor of this package.
bool is_user_file(const std::string& file);
/// The same of a code object's file, remembered.
bool is_user_code(const bytecode::Code* code);
/// Of the package's Python forms of native callables.
bool is_form_code(const bytecode::Code* code);
/// True for files whose functions are traced: user code and listed parts of torch and the standard library.
bool is_inlined_file(const std::string& file, const std::string& function);
/// Whether Tracer::polyfill may have something for this code, whatever the arguments are.
bool may_have_polyfill(PyCodeObject* code);
/// Whether Tracer::decorate_class may do something for calls of this function.
bool may_decorate_classes(PyObject* function);
/// Whether Tracer::call_while_tracing may answer calls of this function.
bool may_answer_while_tracing(PyObject* function);
/// True for a torch file (not user code).
bool is_torch_file(const std::string& file);
/// isinstance(object, torch.nn.Module); false without torch.
bool is_module(PyObject* object);
bool is_module_class(PyTypeObject* type);
PyTypeObject* module_class();  ///< torch.nn.Module; null without torch
/// The code of Module._wrapped_call_impl that Tracer::call_module stands in for; null when there is none.
const bytecode::Code* module_call_code();
/// The Python function that torch.jit.script compiled into `o` and keeps there (PyTorch's own compiler traces that too); else null.
py::Ref scripted_function(PyObject* o);
/// Line of the with statement whose exit function lies at `depth` of the frame's stack; 0 when unknown.
int with_line(const SymFrame& frame, int depth);

}  // namespace breakline::trace
