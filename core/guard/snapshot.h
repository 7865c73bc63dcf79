// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <vector>

#include "core/guard/program.h"

namespace breakline::guard {

/// The state of everything a guard program read when it last succeeded, as versions. While dicts and types
/// keep their versions and the pinned slots hold the same objects, only the residual steps need to run.
struct Snapshot {
  /// True where each change of a dict gives it a new version (CPython 3.11 and 3.12; in 3.13 writes to
  /// attributes don't).
  static bool supported();
  /// Remembers the context of a successful full check.
  void record(GuardProgram& program, GuardContext& context);
  /// True while a context reads the values; it must not be recorded anew then.
  bool in_use() const { return lent_; }
  /// Fast check; fills context.values like a full one. False: unknown, run the full program.
  bool check(GuardProgram& program, GuardContext& context);

 private:
  enum : uint8_t {
    kPinnedSlot,
    kPinnedFetch,
    kDictOfOwner,
    kDictVersion,
    kTypeRecord,
    kTensorImages,
    kResidual
  };
  struct Item {
    uint8_t kind;
    int32_t index;     ///< slot, source, type or step
    PyObject* object;  ///< borrowed; proved alive by the items before it
    uint64_t version;
    int32_t first = 0, last = 0;  ///< of a dict's version: its steps in `covered_`; of tensors: theirs in `tensors_`
  };
  /// A dict has another version: whether all that was read out of it is still there. True: `item` is up to
  /// date again.
  bool refresh(Item& item, GuardProgram& program, GuardContext& context);
  /// One tensor of a run of them, with what is compared side by side: 150 parameters are one walk through memory.
  struct TensorCheck {
    PyObject* tensor;  ///< borrowed; alive as its item's
    const char* impl;  ///< what it pointed to last time; only for reading ahead
    PyTypeObject* type;
    int32_t step;
    torch::MetaImage image;
  };
  /// Whether the tensors of a kTensorImages item are as last time, or pass their steps anew.
  bool check_tensors(const Item& item, GuardProgram& program, GuardContext& context);
  bool lent_ = false;
  std::vector<Item> items_;
  std::vector<TensorCheck> tensors_;
  std::vector<int32_t> covered_;   ///< steps that hold while a dict keeps its version, dict by dict
  std::vector<PyObject*> values_;  ///< of sources that the items cover; others null
  std::vector<PyObject*> seen_;    ///< of each source at the last record (only compared)
  std::vector<bool> varied_;       ///< sources that gave another object at some record
};

}  // namespace breakline::guard
