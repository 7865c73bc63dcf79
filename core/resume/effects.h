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
};

/// The changes a segment makes, in the program's order. Applied once all objects are made.
class EffectProgram {
 public:
  /// Compiles the tracer's log. Throws py::PythonError.
  void build(trace::Tracer& tracer, RecipeBuilder& builder);
  /// False: error set (out of memory); what was applied stays.
  bool apply(const std::vector<PyObject*>& made) const;
  bool empty() const { return steps_.empty(); }
  /// Test fault: exchanges the first two effects.
  void swap_first_two();

 private:
  std::vector<EffectStep> steps_;
};

}  // namespace breakline::resume
