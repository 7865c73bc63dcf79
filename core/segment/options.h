// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <string>

#include "core/policy/policy.h"
#include "core/resume/state.h"
#include "core/trace/tracer.h"

namespace breakline::segment {

/// Deliberate defects for tests of the tests.
enum class Fault : uint8_t { kNone, kDropGuard, kSwapEffects, kStaleSegment, kInternal };

/// torch.compiler.set_stance: what happens where a call fits none of a site's segments.
enum class OnRecompile : uint8_t { kCompile, kRunPlainly, kFail };

constexpr int kRecompileLimit = 8;  ///< PyTorch's own default

/// Switches of the process. Written with the GIL held.
struct EngineOptions {
  trace::Options trace;
  int recompile_limit = kRecompileLimit;       ///< segments of a site before it runs without tracing
  bool executor_only = false;
  bool force_eager = false;      ///< compiled functions call the original (torch.compiler.set_stance)
  bool keep_going = true;        ///< after an internal failure go on without tracing
  Fault fault = Fault::kNone;
  OnRecompile on_recompile = OnRecompile::kCompile;
  /// What to call in place of a callee whose body alone stays plain Python; null result: call it as it is.
  PyObject* (*skipping_callee)(PyObject* callee) = nullptr;
  /// The same for a callee that gives its frame up (skip_frame), whatever it is marked as.
  PyObject* (*plain_callee)(PyObject* callee) = nullptr;
  /// Before a call in a frame that was given up: the user's function called becomes a compiled one.
  void (*compiling_call)(resume::State& state, const bytecode::Instr& call) = nullptr;
};
EngineOptions& options();
/// Sets an option by name; false when there is no such name or the value does not fit.
bool set_option(const std::string& name, int64_t number, const std::string& text);

/// Counts since the start or the last reset.
struct Coverage {
  int64_t roots = 0, roots_traced = 0, segments = 0, segments_with_ops = 0;
  int64_t ops_symbolic = 0, ops_executor = 0, ops_native = 0;
};
Coverage& coverage();

/// The overlays in force; replaced as a whole.
std::shared_ptr<const policy::OverlaySet> overlays();
void set_overlays(std::shared_ptr<const policy::OverlaySet> set);
uint64_t overlay_generation();

}  // namespace breakline::segment
