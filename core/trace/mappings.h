// SPDX-License-Identifier: GPL-3.0-or-later
// What `**m` and dict.update read of a mapping.
#pragma once

#include <functional>

#include "core/trace/tracer.h"

namespace breakline::trace {

/// Hands each key and value of `from` to `use`, as CPython's dict_merge reads them: a dict's own entries where its class
/// iterates as dict does, else `keys()` and an item for each. False, and nothing done, where it is no mapping.
bool each_of_mapping(Tracer& t, Value* from, const std::function<void(Value*, Value*)>& use);

/// The dict that a value is or, an instance of a subclass, holds; null for other values.
Value* held_dict(Tracer& t, Value* v);
/// `a | b` as the operator of `maker`, one of them or a plain dict, makes it.
Value* join_dicts(Tracer& t, Value* a, Value* b, Value* maker);
/// fromkeys of dict, OrderedDict and defaultdict; null for other classes.
Value* dict_of_keys(Tracer& t, PyTypeObject* type, const Values& args);

}  // namespace breakline::trace
