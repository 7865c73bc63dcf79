// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/policy/policy.h"
#include "core/resume/state.h"
#include "core/segment/segment.h"

namespace breakline::segment {

/// A break of a root, kept over recompiles while its place stays.
struct BreakRecord {
  std::string id;
  trace::BreakInfo info;
  policy::Resolution policy;
  int64_t events = 0;
  bool live = true;
};

struct SkippedFrame {
  std::string name, file, reason;
  int line = 0;
  bool operator==(const SkippedFrame&) const = default;
};

struct Edge {
  int from, to;
  int break_index;  ///< -1: a step
  auto operator<=>(const Edge&) const = default;
};

/// Counts in the words of the design.
struct RootStats {
  int graphs = 0, ops = 0, breaks = 0, recompiles = 0;
};

/// One compiled function: all its sites. Touched only with the GIL held.
class Root {
 public:
  explicit Root(PyObject* function);
  PyObject* function() const { return function_.get(); }

  bool fullgraph = false;
  int stepping_sites = 0;  ///< of those with `Site::stepping`
  int recompile_limit = 0;      ///< 0: the process's
  bool static_sizes = false;    ///< variants by size count like all others, and none is made for several sizes
  bool open_sizes = false;      ///< sizes are left open from the first trace on
  bool compiled_strictly = false;  ///< breaks were errors when the last segment was made
  std::string device = "cpu";
  std::string plan;        ///< "replay" forces the reference plan
  std::string name, target_id;

  /// The site of a continuation, made when new.
  Site* site_for(const resume::State& state, const std::vector<int>& resumed_lines, const Segment* from,
                 const std::vector<int32_t>& unbacked = {});
  Site* entry_site();
  /// The function's code in normal form.
  const bytecode::Code* code() {
    PyObject* now = reinterpret_cast<PyFunctionObject*>(function_.get())->func_code;
    if (now != code_object_.get()) {
      code_ = bytecode::decode(reinterpret_cast<PyCodeObject*>(now));
      code_object_ = py::Ref::borrow(now);
    }
    return code_;
  }
  void skip(const std::string& name, const std::string& file, int line, const std::string& reason);
  int break_index(const trace::BreakInfo& info);
  /// Forgets all segments; running calls finish on the old ones.
  void reset();
  void add_region(const trace::Tracer::RegionSeen& region);

  RootStats stats;
  std::vector<BreakRecord> breaks;
  std::vector<SkippedFrame> skipped;
  std::set<Edge> edges;
  std::vector<trace::Tracer::RegionSeen> regions;
  int next_segment = 0;
  int running = 0;
  uint64_t resets = 0;  ///< a call in flight compares it before it counts anything

  const std::unordered_map<std::string, std::unique_ptr<Site>>& sites() const { return sites_; }
  std::vector<Segment*> all_segments() const;

 private:
  py::Ref function_, code_object_;
  const bytecode::Code* code_ = nullptr;
  Site* entry_ = nullptr;
  std::unordered_map<std::string, std::unique_ptr<Site>> sites_;
  std::vector<std::unordered_map<std::string, std::unique_ptr<Site>>> graveyard_;
  int next_site_ = 0;
};

/// A hash of which values of the state are bound.
uint64_t bound_hash(const resume::State& state);

}  // namespace breakline::segment
