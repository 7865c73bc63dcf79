// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/guard/source.h"
#include "core/torch/tensor.h"

namespace breakline::guard {

enum class StepKind : uint8_t {
  kFetch,        ///< read the source into scratch
  kType,         ///< type identity; further conditions in TypeRecord `extra`
  kIdentity,     ///< the very object
  kEqual,        ///< same_constant with `object`
  kLength,       ///< len of list or tuple = number
  kDictLength,
  kDictKeys,     ///< exactly these keys in this order (`object` = tuple)
  kDictAbsent,   ///< key `object` is missing
  kSetItems,     ///< exactly these items in iteration order (`object` = tuple)
  kTensor,       ///< metadata as TensorRecord `extra`
  kSame,         ///< same object as source `number`
  kNotSame,
  kNoOverlap,    ///< tensors at `source` and `number` share no memory
  kOverlapAs,    ///< tensors overlap with the byte distance recorded in `object` (an int)
  kNotNone,      ///< anything but null, e.g. a cell that is bound
  kEmptyCell,    ///< parent is a cell without content
  kFunctionCode, ///< __code__ is `object`
  kTypeVersion,  ///< TypeRecord `extra` holds, without an instance
  kNoInstanceDict,
  kIsException,  ///< PyErr_GivenExceptionMatches(source, object) == number
  kStorageOffset,///< tensor.storage_offset() == number
  kNotIdentity,  ///< any object but `object`
  kNotAmong,     ///< none of the first (number & 0xffffffff) objects of group (number >> 32) - 1
};

struct GuardStep {
  StepKind kind = StepKind::kFetch;
  SourceId source = kNoSource;
  int64_t number = 0;
  int32_t extra = -1;
  py::Ref object;
};

/// What was looked up on a type. The version tag answers fast; when the type has changed, the look-ups decide.
struct TypeRecord {
  py::Ref type;
  unsigned version = 0;
  std::vector<std::pair<py::Ref, py::Ref>> lookups;  ///< name, attribute found on the MRO (null = none)
  py::Ref order;                                     ///< the MRO the trace relied on; null = on none
  bool holds();                                      ///< refreshes `version`
};

struct TensorRecord {
  PyTypeObject* type = nullptr;  ///< torch.Tensor or Parameter, immortal
  graph::TensorMeta meta;
  uint64_t key_set = 0;
  std::vector<bool> open;  ///< dimensions of any size from 2 on; empty: none, else the strides are open as well
  uint64_t marked = 0;     ///< bits of the dimensions that mark_dynamic was called for
  torch::MetaImage image;  ///< of the tensor that passed last
};

/// Scratch of one check; valid until the state changes. Objects are borrowed from the state, or held in `owned`.
struct GuardContext {
  PyObject* const* slots = nullptr;
  size_t slot_count = 0;
  PyObject* handled = nullptr;
  PyObject** values = nullptr;     ///< one per source
  std::vector<py::Ref> owned;
  int failed_step = -1;
  const graph::Graph* shapes = nullptr;  ///< whose values' sizes kNodeSize reads

  std::vector<PyObject*> room;     ///< where `values` lie unless a snapshot lends its own
  bool* lent = nullptr;            ///< of that snapshot: one context at a time
  void release() {
    owned.clear();
    values = nullptr;
    shapes = nullptr;
    if (lent) *lent = false;
    lent = nullptr;
  }
  GuardContext() = default;
  GuardContext(const GuardContext&) = delete;
  ~GuardContext() { release(); }
};

struct Snapshot;

/// The guards of one segment. Needs the GIL. Checks run no user code.
class GuardProgram {
 public:
  GuardProgram();
  ~GuardProgram();
  GuardProgram(GuardProgram&&) noexcept;
  GuardProgram& operator=(GuardProgram&&) noexcept;

  std::vector<Source> sources;
  std::vector<GuardStep> steps;
  std::vector<TypeRecord> types;
  std::vector<TensorRecord> tensors;
  std::vector<std::vector<SourceId>> groups;
  /// What hangs on the sizes of open dimensions and on nothing else but `shape_roots` and fixed objects: the same for
  /// each call with these sizes, so it is looked at once for them (after `steps` have held).
  std::vector<GuardStep> shape_steps;
  std::vector<SourceId> shape_sources;  ///< parents before children
  std::vector<SourceId> shape_roots;    ///< numbers that such sources are made from

  /// Random numbers that the segment takes from Python and what it makes of them, with the class that each has to have:
  /// fetched in this order when the segment runs, never for a check.
  struct Drawn {
    SourceId source;
    PyTypeObject* type;
  };
  std::vector<Drawn> drawn;
  /// Fetches `drawn`, which moves the generators on. False, with no error set, where one fails or is of another class.
  bool draw(GuardContext& context);

  /// True when every step holds; then context.values has every fetched source. Never leaves an error set.
  bool check(GuardContext& context);
  /// Moves the steps that hang on sizes from `steps` to `shape_steps`; `used`: further sources that do or may. Once, after the trace.
  void split_shapes(const std::vector<SourceId>& used);
  /// Forgets what the sources of sizes had in `context` and reads from `shapes` from now on.
  void begin_shapes(GuardContext& context, const graph::Graph* shapes);
  /// Value of a source that hangs on sizes, or of one that `check` has fetched; null when there is none. Borrowed.
  PyObject* shape_value(SourceId id, GuardContext& context);
  /// True when every shape step holds.
  bool check_shapes(GuardContext& context);
  /// After a failed `check`: all steps that differ, as far as those that do are numbers or sizes; the last may be of another kind.
  std::vector<int> differing(GuardContext& context);
  const GuardStep& step(int index) const {
    const auto i = static_cast<size_t>(index);
    return i < steps.size() ? steps[i] : shape_steps[i - steps.size()];
  }
  /// Whether the step that failed in `context` asks for the sizes of a tensor of otherwise equal kind, or for a number.
  bool differs_by_size(const GuardContext& context) const { return differs_by_size(context, context.failed_step); }
  bool differs_by_size(const GuardContext& context, int step) const;
  /// A step in words; `slots` (co_localsplusnames, borrowed) names the variables when it is given.
  std::string describe(int step, PyObject* slots = nullptr) const;
  /// Test fault: forget the first step that is no fetch.
  void drop_one_check();

 private:
  bool run_step(GuardStep& step, GuardContext& context);
  std::vector<bool> of_shapes_;  ///< by source
  bool fetch(SourceId id, GuardContext& context);
  bool run_all(GuardContext& context);
  friend struct Snapshot;
  std::unique_ptr<Snapshot> snapshot_;
  int successes_ = 0;
  int snapshot_misses_ = 0;
};

}  // namespace breakline::guard
