// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/python/ref.h"
#include "core/segment/root.h"

namespace breakline::engine {

/// The Python type CompiledFunction (core/engine/README.md). Ready after add_compiled_function().
int add_compiled_function(PyObject* module);
/// New reference: a CompiledFunction of a plain Python function.
PyObject* make_compiled(PyObject* function, bool fullgraph, const std::string& device, const std::string& plan,
                        const std::string& name, const std::string& target_id);
bool is_compiled_function(PyObject* object);
segment::Root& root_of(PyObject* compiled);
/// All live compiled functions (borrowed).
const std::vector<PyObject*>& live_compiled();

/// The entry of `targets` for a root, as a new dict.
PyObject* report_of(segment::Root& root);
/// {graphs, ops, breaks, places, recompiles, skipped}
PyObject* stats_of(segment::Root& root);

/// Installs the function that raises a rejected break with PyTorch's message.
void install_error_raiser();
void set_error_factory(PyObject* callable);

}  // namespace breakline::engine
