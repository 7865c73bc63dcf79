// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <unordered_map>
#include <vector>

#include "core/guard/program.h"
#include "core/trace/tracer.h"

namespace breakline::resume {

enum class RecipeKind : uint8_t {
  kConstant,  ///< `object`
  kFetch,     ///< value of guard source `index`
  kFreshNumber,  ///< another object of the same value as kids[0], an int or a float
  kOutput,    ///< graph output `index`
  kTuple,
  kNamedTuple,
  kList,
  kDict,
  kSet,
  kSlice,
  kMethod,
  kFunction,
  kCell,
  kInstance,
  kSuper,
  kGenerator,
  kDictView,
  kPartial,
  kException,
  kTraceback,
  kListIterator,
  kReversedIterator,
  kRangeIterator,
  kZip,
  kEnumerate,
  kMap,
  kFilter,
  kChain,
  kNative,             ///< by the history in `calls`; its arguments are `kids`, in order
  kContainerIterator,  ///< over a dict view, a set, a text
};

/// One object to make. `kids` are indices of earlier steps (-1 = null).
struct RecipeStep {
  RecipeKind kind = RecipeKind::kConstant;
  int32_t index = 0;
  PyObject* object = nullptr;
  std::vector<int32_t> kids;
  int64_t a = 0, b = 0, c = 0;
  PyObject *globals = nullptr, *qualname = nullptr;
  std::vector<trace::SetOperation> history;
  trace::TracebackEntry traceback{};
  std::vector<trace::NativeCall> calls;
};

/// Content put into an object after everything exists, so that cycles close.
struct RecipeFill {
  int32_t step = 0;
  std::vector<int32_t> kids;
};

/// How the live objects of a segment's exit come into being. A container is filled as soon as its content
/// exists. What looks at the final content of a container (an iterator over a dict, and whatever holds one)
/// is made late: after the segment's effects. Immutable once arranged; borrowed objects are kept alive by the
/// segment. GIL.
class Recipe {
 public:
  /// Orders steps and fills, once all are there.
  void arrange();
  bool is_late(int32_t step) const { return step >= 0 && late_[static_cast<size_t>(step)]; }
  /// Makes everything but the late steps. `values`: guard scratch; `outputs`: graph outputs. `made` gets one
  /// owned reference per step, null for a late one. False: error set; what `made` holds is still the
  /// caller's.
  bool make_early(PyObject* const* values, PyObject* const* outputs, std::vector<PyObject*>& made) const;
  /// Makes the late steps. False as above.
  bool make_late(PyObject* const* values, PyObject* const* outputs, std::vector<PyObject*>& made) const;
  /// Moves iterators over sequences to their position; the last thing, since a sequence may only now be long
  /// enough.
  bool place_iterators(const std::vector<PyObject*>& made) const;
  std::vector<RecipeStep> steps;
  std::vector<RecipeFill> fills;
  bool iterators = false;  ///< some step is an iterator that must be moved to its position

 private:
  struct Action {
    bool fill;
    int32_t index;  ///< of `steps` or `fills`
  };
  bool carry_out(const std::vector<Action>& actions, PyObject* const* values, PyObject* const* outputs,
                 std::vector<PyObject*>& made) const;
  PyObject* make(const RecipeStep& step, PyObject* const* values, PyObject* const* outputs,
                 const std::vector<PyObject*>& made) const;
  bool fill(const RecipeFill& fill, const std::vector<PyObject*>& made) const;
  /// The keys of a dict or members of a set that a fill puts in and that are made here.
  std::vector<int32_t> hashed_kids(const RecipeFill& fill) const;
  /// The fills in an order where a key is complete, as far as cycles allow, before it is hashed. `ready`: the last step each fill
  /// needs; raised accordingly.
  std::vector<int32_t> fill_order(std::vector<int32_t>& ready) const;
  std::vector<bool> late_;  ///< one per step
  std::vector<Action> early_actions_, late_actions_;
};

/// Turns the values of a finished trace into recipe steps; graph outputs are added to the graph as they are
/// needed.
class RecipeBuilder {
 public:
  RecipeBuilder(trace::Tracer& tracer, Recipe& recipe) : tracer_(tracer), recipe_(recipe) {}
  /// Step that yields the object `v` stands for; -1 for null. Throws py::PythonError.
  int32_t emit(trace::Value* v);
  std::vector<int32_t> emit_all(const trace::Values& values);

 private:
  int32_t add(RecipeStep step);
  int32_t emit_new(trace::Value* v);
  int32_t emit_iterator(trace::Value* v);
  int32_t output_of(graph::ValueId id);
  trace::Tracer& tracer_;
  Recipe& recipe_;
  std::unordered_map<trace::Value*, int32_t> done_;
  std::unordered_map<trace::SourceId, int32_t> fetched_;  ///< step that fetches it
  std::unordered_map<graph::ValueId, int32_t> outputs_;
};

}  // namespace breakline::resume
