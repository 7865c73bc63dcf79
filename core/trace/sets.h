// SPDX-License-Identifier: GPL-3.0-or-later
// Sets made in the trace that hold objects: these lie beside the shadow, so what two such sets have in common is told item by item.
#pragma once
#include "core/trace/tracer.h"

namespace breakline::trace {

/// Whether the set's content is known only in part by its shadow (objects kept aside).
bool holds_objects(const Value* set);
/// What a set holds, in no certain order.
Values set_members(Tracer& t, Value* set);
/// Whether the members of `a` are all in `b`; both are sets.
bool is_subset(Tracer& t, Value* a, Value* b);
bool are_disjoint(Tracer& t, Value* a, Value* b);
/// Whether code may run for each item that is asked for.
bool runs_for_items(const Value* iterable);
/// Whether a set holds what an iterable yields, or none of it: asked item by item, no further than the answer.
bool holds_all(Tracer& t, Value* set, Value* iterable);
bool meets_none(Tracer& t, Value* set, Value* iterable);
/// `a op b` (Py_LT …) of two sets.
bool compare_sets(Tracer& t, int op, Value* a, Value* b);

}  // namespace breakline::trace
