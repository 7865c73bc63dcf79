// SPDX-License-Identifier: GPL-3.0-or-later
// Sorting by comparisons of the trace, asked in CPython's order: up to 63 items it sorts by binary insertion
// after the run they begin with.
#include <algorithm>

#include "core/trace/tracer.h"

namespace breakline::trace {

namespace {

using Order = std::vector<size_t>;

/// How many of the items are in order, once they are turned around where they begin with a descending run.
template <class Less>
size_t strictly_descending_run(Order& order, const Less& less) {
  const size_t n = order.size();
  size_t run = 2;
  if (!less(order[1], order[0])) {
    while (run < n && !less(order[run], order[run - 1])) ++run;
    return run;
  }
  while (run < n && less(order[run], order[run - 1])) ++run;
  std::reverse(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(run));
  return run;
}

/// The same from 3.13 on: a descending run may hold equal items, and an ascending one may follow it.
template <class Less>
size_t descending_run(Order& order, const Less& less) {
  const size_t n = order.size();
  const auto turn = [&](size_t from, size_t to) {
    std::reverse(order.begin() + static_cast<std::ptrdiff_t>(from),
                 order.begin() + static_cast<std::ptrdiff_t>(to));
  };
  const auto ascend = [&](size_t run) {
    while (run < n && !less(order[run], order[run - 1])) ++run;
    return run;
  };
  size_t run = ascend(1);
  if (run == n || (run > 1 && less(order[0], order[run - 1]))) return run;
  turn(0, run);  // one item, or equal ones
  ++run;
  size_t equal =
      0;  // items before the last one that are equal to it: they keep their order when all is turned
  for (; run < n; ++run) {
    if (less(order[run], order[run - 1])) {
      turn(run - equal - 1, run);
      equal = 0;
    } else if (less(order[run - 1], order[run])) {
      break;
    } else {
      ++equal;
    }
  }
  turn(run - equal - 1, run);
  turn(0, run);
  return ascend(run);
}

}  // namespace

void Tracer::sort_values(Values& items, Values& keys, bool reverse) {
  const size_t n = items.size();
  if (n < 2) return;
  if (n > 63) stop("sort-keys", {{"key", describe(keys[0])}});
  Order order(n);
  for (size_t i = 0; i < n; ++i) order[i] = reverse ? n - 1 - i : i;
  const auto less = [&](size_t a, size_t b) { return truth(compare(Py_LT, keys[a], keys[b])) == 1; };
  const size_t run =
      PY_VERSION_HEX >= 0x030D0000 ? descending_run(order, less) : strictly_descending_run(order, less);
  for (size_t i = run; i < n; ++i) {
    const size_t pivot = order[i];
    size_t low = 0, high = i;
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if (less(pivot, order[middle]))
        high = middle;
      else
        low = middle + 1;
    }
    order.erase(order.begin() + static_cast<std::ptrdiff_t>(i));
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(low), pivot);
  }
  if (reverse) std::reverse(order.begin(), order.end());
  Values sorted;
  for (size_t i : order) sorted.push_back(items[i]);
  items = std::move(sorted);
}

}  // namespace breakline::trace
