// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include "core/trace/tracer.h"

namespace breakline::trace {

/// Symbolic forms of builtin functions and types, in tables by callable.
struct Builtins {
  using Handler = Value* (*)(Tracer&, PyObject* callable, Values& args, Keywords& keywords);
  /// Null: no entry for this callable. `pushed()`: a frame was pushed.
  static Value* try_call(Tracer& t, PyObject* callable, Values& args, Keywords& keywords);
  static Value* pushed();
  /// Class methods of native types (tuple.__new__, chain.from_iterable) and calls of itemgetter objects; null when it is none.
  static Value* try_native_method(Tracer& t, PyObject* callable, Values& args, Keywords& keywords);
  /// Stops the trace at a native callable that has none, with the reason that fits it.
  [[noreturn]] static Value* refuse(Tracer& t, PyObject* callable, const std::string& module, Values& args, Keywords& keywords);
  static void add(PyObject* callable, Handler handler);
  static void add(const char* module, const char* name, Handler handler);
};

/// An instance's __dict__ as the program may see and keep it; null when it has none (attributes.cpp).
Value* dict_of_instance(Tracer& t, Value* instance);
/// id() as the number it is now, under a guard on the object.
Value* number_of_identity(Tracer& t, Value* identity);
void add_builtin_functions();   ///< builtins_functions.cpp
void add_builtin_types();       ///< builtins_types.cpp
void add_itertools();           ///< builtins_itertools.cpp
void add_frame_builtins();      ///< frame_forms.cpp: locals, eval, dir, id
void add_builtin_modules();     ///< builtins_modules.cpp: functools, itertools, operator, …

/// What `asks`, which runs no code of the program, answers about a tensor that the call brought along: a number stays open.
Value* answer_of_entry(Tracer& t, PyObject* asks, Value* tensor);

}  // namespace breakline::trace
