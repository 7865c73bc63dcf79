// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <vector>

#include "core/graph/passes/rewrite.h"
#include "core/graph/plan.h"
#include "core/torch/exposure.h"

namespace breakline::cpu {

/// Results of a graph's frozen nodes, kept while what they are made of stays as it was: the same tensor
/// objects with the same memory, version and (at 32 places) contents; all contents are compared while
/// somebody may write them past the version counter. Holds no source alive. GIL.
class FrozenValues {
 public:
  explicit FrozenValues(const graph::Split& parts);
  enum class State : uint8_t {
    kReady,
    kFailed,    ///< they can't be computed, a source can't be watched, or enough other plans keep values made
                ///< of the same memory: no use in another try
    kUnstable,  ///< they changed on several calls in a row
  };
  /// Makes what is not there or stale. `inputs` are those of the whole graph. No error is left set.
  State refresh(graph::ObjectHandle const* inputs);
  /// After kReady: one per kept value, borrowed.
  const std::vector<graph::ObjectHandle>& values() const { return values_; }
  void clear();
  ~FrozenValues() { clear(); }
  FrozenValues(const FrozenValues&) = delete;
  FrozenValues& operator=(const FrozenValues&) = delete;

 private:
  struct Source {
    int input = 0;
    const void* object = nullptr;
    py::Ref weak;
    const char* data = nullptr;
    int64_t version = 0;
    size_t bytes = 0;  ///< from the first to behind the last element
    uint64_t sample = 0, whole = 0;
    torch::Exposure exposures;
    uint64_t seen = 0;  ///< of `exposures`; more: all contents are compared
    long holders = 0;
    int checks = 0;  ///< in full, since it was exposed
  };
  /// Whether it is as it was when it was taken.
  bool same(Source& source, PyObject* tensor);
  bool take(Source& source, PyObject* tensor);
  State compute(graph::ObjectHandle const* inputs);

  std::vector<Source> sources_;
  std::unique_ptr<graph::Plan> plan_;
  std::vector<graph::ObjectHandle> values_;
  bool made_ = false;
  bool exposed_ = false;  ///< some source is open to writes for good
  int changes_ = 0;       ///< on calls in a row
};

}  // namespace breakline::cpu
