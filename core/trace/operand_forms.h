// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <initializer_list>

#include "core/trace/tracer.h"

namespace breakline::trace {

/// An enum member that is a number or text as well, as the plain one, where its class keeps these methods of
/// that base (IntEnum does); else `v` itself. Null names are passed over.
Value* plain_of_enum(Tracer& t, Value* v, std::initializer_list<const char*> methods);

/// `a` and `b` in one of &, |, -, ^ (`method`: "__and__" and so on) where keys() or items() of a dict is
/// among them, as CPython builds the set; null when neither is a view or there is no such form.
Value* view_operation(Tracer& t, const char* method, Value* a, Value* b);

}  // namespace breakline::trace
