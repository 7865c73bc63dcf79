// SPDX-License-Identifier: GPL-3.0-or-later
// What crosses the wire, as plain structs. README.md of this folder is the contract; names are the JSON's.
// Lines are 1-based; columns 0-based, -1 unknown; times carry their unit in the name.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace breakline::protocol {

inline constexpr int kProtocolVersion = 1;
inline constexpr int kReportSchema = 1;

struct Device {
  std::string id, name, reason;
  bool available = false;
};

/// The answer to `hello`.
struct Hello {
  int protocol = 0, threads = 0, pid = 0;
  std::string engine, python, python_path, torch, torch_note;
  std::vector<Device> devices;
};

struct Frame {
  std::string file, function;
  int line = 0;
};

struct Op {
  std::string name, file, shape, dtype, module;
  int line = 0, column = -1;
  std::optional<int> kernel;
};

struct Kernel {
  int id = 0;
  std::string name, device;
  std::vector<int> ops;
  std::optional<std::string> source;
};

struct SourceRange {
  std::string file;
  int line = 0, end_line = 0;
};

struct Segment {
  std::string id, site, plan, plan_reason, file, function, exit;
  int kernels = 0, line = 0, end_line = 0, guards = 0;
  long long runs = 0;
  double trace_us = 0, compile_us = 0;
  std::vector<Op> ops;
  std::vector<Kernel> kernel_list;
  std::vector<SourceRange> source_ranges;
};

struct Edge {
  std::string from, to, kind;
  std::optional<std::string> break_id;  ///< "break" on the wire
};

struct Policy {
  std::string effective = "allow", source = "default";
};

struct Break {
  std::string id, target, reason, type, file, explanation, context, code;
  std::optional<Frame> user;
  std::optional<std::string> gb_id, after, before, knowledge;
  int line = 0, column = -1, end_line = 0, end_column = -1;
  long long events = 0;
  std::vector<Frame> chain;
  std::vector<std::string> hints;
  Policy policy;
};

struct SkippedFrame {
  std::string name, file, reason;
  int line = 0;
};

struct TargetError {
  std::string type, message, traceback;
  std::optional<std::string> break_id;  ///< "break" on the wire
};

struct Target {
  std::string id, name, kind, file;
  int line = 0, graphs = 0, ops = 0, breaks_traced = 0, places = 0, recompiles = 0, skipped = 0, calls = 0;
  bool fullgraph = false, side_effects = false;
  std::vector<SkippedFrame> skipped_frames;
  std::vector<Segment> segments;
  std::vector<Edge> edges;
  std::vector<Break> breaks;
  std::vector<std::string> uncloneable;
  std::optional<TargetError> error;
};

struct Region {
  std::string key, kind, file, qualname, declared, overlay, effective, source;
  int line = 0, end_line = 0, depth = 0, breaks = 0;
  std::optional<std::string> parent;
};

struct Overlay {
  std::string key, value;
};

struct OverlayState {
  std::string key, value, note;
  bool active = true, effect = false;
};

struct Preview {
  std::vector<std::string> strict_rejects;
  std::optional<std::string> first;
};

struct OutputPiece {
  std::string stream, text, label;
};

struct TimingMs {
  double run = 0, trace = 0, compile = 0, total = 0;
};

struct Report {
  int schema = kReportSchema, threads = 0;
  std::string breakline, python, torch, file, device;
  std::vector<std::string> argv;
  std::vector<Target> targets;
  std::vector<Break> breaks;
  std::vector<Region> regions;
  std::vector<OverlayState> overlays;
  Preview preview;
  std::vector<OutputPiece> output;
  std::vector<std::string> warnings;
  TimingMs timing_ms;
};

struct Interval {
  double value = 1, low = 1, high = 1;
};

struct Noise {
  double ratio = 1, low = 1, high = 1;
};

/// What compiling an arm costs, in milliseconds; empty where it is not known, and `note` says why and how.
struct CompileCost {
  std::optional<double> cold_ms, warm_ms, incremental_ms;
  std::string note;
};

/// One way to make the same call, timed.
struct Arm {
  std::string id, name, reason, error_note, verdict_note;
  bool available = false, equal = false;
  std::vector<double> samples_us;
  std::optional<double> median_us, mean_us, max_abs_err, max_rel_err, double_abs_err, double_rel_err,
      roof_percent;
  std::optional<std::vector<double>> iqr_us;
  int n = 0, calls = 0, recompiles = 0;
  double compile_ms = 0;
  std::optional<CompileCost> compile;
  std::optional<long long> break_even_calls;
  std::optional<Interval> ratio;
  std::optional<std::string> verdict;
};

struct DeviceNotes {
  std::string cpu, vulkan;
};

/// What other programs did while arms were timed.
struct Load {
  double average = 0;  ///< of the last minute, as uptime tells it
  double others = 0;   ///< CPUs that others used during the blocks
  int cpus = 0, blocks = 0, loaded_blocks = 0, dropped_blocks = 0;
  bool kept_loaded = false;  ///< the samples are of a busy machine
};

/// The least time that the machine needs for a call's work.
struct Roofline {
  double flops = 0, bytes = 0, bandwidth_gb_s = 0, floor_us = 0;
  std::optional<double> peak_gflop_s;
  std::string bound, note;
};

/// Microseconds a call, with their range.
struct Saving {
  double us = 0, low = 0, high = 0;
};

/// What a call saves without a break: foretold from the break's own parts, and measured on the program
/// without it.
struct WhatIf {
  std::string break_id, place, note;  ///< "break" on the wire
  std::optional<Saving> predicted, measured;
  std::optional<std::string> verdict;
};

struct Timings {
  int schema = kReportSchema, threads = 0, rounds = 0, warmup = 0;
  double block_ms = 0;
  std::string target, blas, allocator, load_note, double_note;
  DeviceNotes device_notes;
  Load load;
  std::vector<Arm> arms;
  std::optional<Noise> noise;
  std::optional<Roofline> roofline;
  std::optional<WhatIf> what_if;
  std::vector<std::string> warnings;
};

/// The text of one graph (or code object) at one stage of compilation.
struct DumpEntry {
  std::string target, id, function, file;
  int line = 0;
  std::string plan;
  std::string text;  ///< empty: this plan has no such stage
};
struct DumpParams {
  std::string stage;
  std::optional<std::string> target;
};
struct Dump {
  int schema = kReportSchema;
  std::string stage;
  std::vector<DumpEntry> entries;
};

/// One side of a Parity: what a compiler made of the target. `error`: the first one, empty when there is
/// none.
struct ParitySide {
  int graphs = 0, ops = 0, places = 0, given_up = 0;
  double trace_ms = 0;
  std::string error;
};

/// A place where one of the compilers, or both, broke the graph; a side that did not has no reason.
struct ParityPlace {
  std::string verdict;  ///< "agree", "only ours" or "only theirs"
  std::string file, ours, theirs;
  int line = 0;
};

/// Our breaks against those of the user's own torch.compile.
struct Parity {
  int schema = kReportSchema;
  std::string torch;
  ParitySide ours, theirs;
  std::vector<ParityPlace> places;
};

/// Parameters of `open`.
struct OpenParams {
  std::string target, device = "cpu";
  std::vector<std::string> argv, inputs;
  std::vector<Overlay> overlays;
  bool train = false, no_grad = false, fullgraph = false;
  std::optional<long long> seed;
  std::optional<std::string> text;
};

/// Parameters of `time`.
struct TimeParams {
  std::string target;
  std::optional<std::vector<std::string>> arms;
  std::optional<int> rounds, threads;
  std::optional<std::string> without;  ///< LINE or FILE:LINE of a break
  double budget_s = 10, block_ms = 1;
  bool full = false;
};

}  // namespace breakline::protocol
