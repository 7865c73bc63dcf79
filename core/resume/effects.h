// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/resume/recipe.h"

namespace breakline::resume {

/// One change of an existing object; the numbers are recipe steps.
struct EffectStep {
  trace::Effect::Kind kind;
  int32_t target = -1, key = -1, value = -1;
  std::vector<int32_t> items;
  PyObject* name = nullptr;
  std::vector<trace::SetOperation> history;
  bool restructured = false;  ///< a deque took or gave items: iterators over it end in an error
};

/// The changes a segment makes, in the program's order.
class EffectProgram {
 public:
  /// Compiles the tracer's log. Throws py::PythonError.
  void build(trace::Tracer& tracer, RecipeBuilder& builder);
  /// Finds the first change that needs an object the recipe makes late.
  void split(const Recipe& recipe);
  /// The changes before that one, and those from it on. False: error set (out of memory); what was applied
  /// stays.
  bool apply_early(const std::vector<PyObject*>& made) const { return apply(0, late_from_, made); }
  bool apply_late(const std::vector<PyObject*>& made) const { return apply(late_from_, steps_.size(), made); }
  bool empty() const { return steps_.empty(); }
  /// Test fault: exchanges the first two effects.
  void swap_first_two();

 private:
  bool apply(size_t from, size_t to, const std::vector<PyObject*>& made) const;
  std::vector<EffectStep> steps_;
  size_t late_from_ = 0;
};

}  // namespace breakline::resume
