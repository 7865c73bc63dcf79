// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <initializer_list>
#include <string_view>

#include "core/trace/tracer.h"

namespace breakline::trace {

/// Stops where CPython answers by what is special about an object of a class of one's own: text without a place to
/// fill in is its own result of %, and a number of such a class ends the search for a sequence's *= on the right.
void stop_for_the_object(Tracer& t, Value* a, Value* b, std::string_view method, bool in_place);
/// Operands whose classes leave the operation to int, float, str and the like become the plain values they hold:
/// members of number enums (IntEnum's) and instances of subclasses. `left`, `right`: the methods that may be asked,
/// null names are passed over. An operand that code of the other one's class will see stays what it is.
void plain_operands(Tracer& t, Value*& a, Value*& b, std::initializer_list<const char*> left,
                    std::initializer_list<const char*> right);

/// `a % b` with a text `a` and, in `b`, objects whose classes say what their texts are; null for other operands.
Value* format_text(Tracer& t, Value* a, Value* b);

/// `a` and `b` in one of &, |, -, ^ (`method`: "__and__" and so on) where keys() or items() of a dict is
/// among them, as CPython builds the set; null when neither is a view or there is no such form.
Value* view_operation(Tracer& t, const char* method, Value* a, Value* b);

/// A tuple, list or slice with `change(item)` in place of each item; the value itself where nothing changes.
template <class Change>
Value* with_items(Tracer& t, Value* v, Change change) {
  Values items;
  bool changed = false;
  for (Value* i : v->items) {
    items.push_back(i ? change(i) : i);
    changed = changed || items.back() != i;
  }
  if (!changed) return v;
  Value* made = t.make(v->kind);
  made->items = std::move(items);
  made->loaded = true;
  return made;
}

}  // namespace breakline::trace
