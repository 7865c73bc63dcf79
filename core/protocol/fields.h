// SPDX-License-Identifier: GPL-3.0-or-later
// The one table that ties structs to JSON names; reading and writing both walk it. Private to this folder.
#pragma once
#include "core/protocol/budget.h"
#include "core/protocol/report.h"
#include "core/protocol/timeline.h"

namespace breakline::protocol {

template <class V>
void walk(V& v, Device& x) {
  v("id", x.id), v("name", x.name), v("available", x.available), v("reason", x.reason);
}
template <class V>
void walk(V& v, Hello& x) {
  v("protocol", x.protocol), v("engine", x.engine), v("python", x.python), v("python_path", x.python_path);
  v("torch", x.torch), v("torch_note", x.torch_note), v("threads", x.threads), v("pid", x.pid),
      v("devices", x.devices);
}
template <class V>
void walk(V& v, Frame& x) {
  v("file", x.file), v("line", x.line), v("function", x.function);
}
template <class V>
void walk(V& v, Op& x) {
  v("name", x.name), v("file", x.file), v("line", x.line), v("column", x.column);
  v("shape", x.shape), v("dtype", x.dtype), v("kernel", x.kernel), v("module", x.module);
}
template <class V>
void walk(V& v, Kernel& x) {
  v("id", x.id), v("name", x.name), v("ops", x.ops), v("device", x.device), v("source", x.source);
}
template <class V>
void walk(V& v, SourceRange& x) {
  v("file", x.file), v("line", x.line), v("end_line", x.end_line);
}
template <class V>
void walk(V& v, Segment& x) {
  v("id", x.id), v("site", x.site), v("plan", x.plan), v("plan_reason", x.plan_reason),
      v("kernels", x.kernels);
  v("runs", x.runs), v("file", x.file), v("line", x.line), v("end_line", x.end_line),
      v("function", x.function);
  v("ops", x.ops), v("kernel_list", x.kernel_list), v("source_ranges", x.source_ranges),
      v("guards", x.guards);
  v("trace_us", x.trace_us), v("compile_us", x.compile_us), v("exit", x.exit);
}
template <class V>
void walk(V& v, Edge& x) {
  v("from", x.from), v("to", x.to), v("break", x.break_id), v("kind", x.kind);
}
template <class V>
void walk(V& v, Policy& x) {
  v("effective", x.effective), v("source", x.source);
}
template <class V>
void walk(V& v, Break& x) {
  v("id", x.id), v("target", x.target), v("reason", x.reason), v("gb_id", x.gb_id), v("type", x.type);
  v("file", x.file), v("line", x.line), v("column", x.column), v("end_line", x.end_line);
  v("end_column", x.end_column), v("chain", x.chain), v("explanation", x.explanation), v("hints", x.hints);
  v("context", x.context), v("policy", x.policy), v("events", x.events), v("after", x.after);
  v("before", x.before), v("knowledge", x.knowledge), v("code", x.code), v("user", x.user);
}
template <class V>
void walk(V& v, SkippedFrame& x) {
  v("name", x.name), v("file", x.file), v("line", x.line), v("reason", x.reason);
}
template <class V>
void walk(V& v, TargetError& x) {
  v("type", x.type), v("message", x.message), v("traceback", x.traceback), v("break", x.break_id);
}
template <class V>
void walk(V& v, Target& x) {
  v("id", x.id), v("name", x.name), v("kind", x.kind), v("file", x.file), v("line", x.line);
  v("fullgraph", x.fullgraph), v("graphs", x.graphs), v("ops", x.ops), v("breaks_traced", x.breaks_traced);
  v("places", x.places), v("recompiles", x.recompiles), v("skipped", x.skipped), v("calls", x.calls);
  v("skipped_frames", x.skipped_frames), v("segments", x.segments), v("edges", x.edges),
      v("breaks", x.breaks);
  v("side_effects", x.side_effects), v("uncloneable", x.uncloneable), v("error", x.error);
}
template <class V>
void walk(V& v, Region& x) {
  v("key", x.key), v("kind", x.kind), v("file", x.file), v("line", x.line), v("end_line", x.end_line);
  v("qualname", x.qualname), v("depth", x.depth), v("parent", x.parent), v("declared", x.declared);
  v("overlay", x.overlay), v("effective", x.effective), v("source", x.source), v("breaks", x.breaks);
}
template <class V>
void walk(V& v, Overlay& x) {
  v("key", x.key), v("value", x.value);
}
template <class V>
void walk(V& v, OverlayState& x) {
  v("key", x.key), v("value", x.value), v("active", x.active), v("effect", x.effect), v("note", x.note);
}
template <class V>
void walk(V& v, Preview& x) {
  v("strict_rejects", x.strict_rejects), v("first", x.first);
}
template <class V>
void walk(V& v, OutputPiece& x) {
  v("stream", x.stream), v("text", x.text), v("label", x.label);
}
template <class V>
void walk(V& v, TimingMs& x) {
  v("run", x.run), v("trace", x.trace), v("compile", x.compile), v("total", x.total);
}
template <class V>
void walk(V& v, Report& x) {
  v("schema", x.schema), v("breakline", x.breakline), v("python", x.python), v("torch", x.torch);
  v("threads", x.threads), v("file", x.file), v("argv", x.argv), v("device", x.device),
      v("targets", x.targets);
  v("breaks", x.breaks), v("regions", x.regions), v("overlays", x.overlays), v("preview", x.preview);
  v("output", x.output), v("warnings", x.warnings), v("timing_ms", x.timing_ms);
}
template <class V>
void walk(V& v, Interval& x) {
  v("value", x.value), v("low", x.low), v("high", x.high);
}
template <class V>
void walk(V& v, Noise& x) {
  v("ratio", x.ratio), v("low", x.low), v("high", x.high);
}
template <class V>
void walk(V& v, CompileCost& x) {
  v("cold_ms", x.cold_ms), v("warm_ms", x.warm_ms), v("incremental_ms", x.incremental_ms), v("note", x.note);
}
template <class V>
void walk(V& v, Arm& x) {
  v("id", x.id), v("name", x.name), v("available", x.available), v("reason", x.reason);
  v("samples_us", x.samples_us), v("median_us", x.median_us), v("mean_us", x.mean_us), v("iqr_us", x.iqr_us);
  v("n", x.n), v("calls", x.calls), v("compile_ms", x.compile_ms), v("compile", x.compile);
  v("break_even_calls", x.break_even_calls), v("ratio", x.ratio), v("verdict", x.verdict);
  v("verdict_note", x.verdict_note), v("recompiles", x.recompiles), v("equal", x.equal);
  v("max_abs_err", x.max_abs_err), v("max_rel_err", x.max_rel_err), v("error_note", x.error_note);
  v("double_abs_err", x.double_abs_err), v("double_rel_err", x.double_rel_err),
      v("roof_percent", x.roof_percent);
}
template <class V>
void walk(V& v, DeviceNotes& x) {
  v("cpu", x.cpu), v("vulkan", x.vulkan);
}
template <class V>
void walk(V& v, Load& x) {
  v("average", x.average), v("cpus", x.cpus), v("others", x.others), v("blocks", x.blocks);
  v("loaded_blocks", x.loaded_blocks), v("dropped_blocks", x.dropped_blocks), v("kept_loaded", x.kept_loaded);
}
template <class V>
void walk(V& v, Roofline& x) {
  v("flops", x.flops), v("bytes", x.bytes), v("bandwidth_gb_s", x.bandwidth_gb_s);
  v("peak_gflop_s", x.peak_gflop_s), v("floor_us", x.floor_us), v("bound", x.bound), v("note", x.note);
}
template <class V>
void walk(V& v, Saving& x) {
  v("us", x.us), v("low", x.low), v("high", x.high);
}
template <class V>
void walk(V& v, WhatIf& x) {
  v("break", x.break_id), v("place", x.place), v("predicted", x.predicted), v("measured", x.measured);
  v("verdict", x.verdict), v("note", x.note);
}
template <class V>
void walk(V& v, Timings& x) {
  v("schema", x.schema), v("target", x.target), v("device_notes", x.device_notes), v("threads", x.threads);
  v("blas", x.blas), v("allocator", x.allocator), v("rounds", x.rounds), v("warmup", x.warmup);
  v("block_ms", x.block_ms), v("load", x.load), v("load_note", x.load_note), v("arms", x.arms);
  v("noise", x.noise), v("roofline", x.roofline), v("double_note", x.double_note), v("what_if", x.what_if),
      v("warnings", x.warnings);
}
template <class V>
void walk(V& v, DumpEntry& x) {
  v("target", x.target), v("id", x.id), v("function", x.function), v("file", x.file), v("line", x.line);
  v("plan", x.plan), v("text", x.text);
}
template <class V>
void walk(V& v, DumpParams& x) {
  v("stage", x.stage), v("target", x.target);
}
template <class V>
void walk(V& v, Dump& x) {
  v("schema", x.schema), v("stage", x.stage), v("entries", x.entries);
}
template <class V>
void walk(V& v, ParitySide& x) {
  v("graphs", x.graphs), v("ops", x.ops), v("places", x.places), v("given_up", x.given_up);
  v("trace_ms", x.trace_ms), v("error", x.error);
}
template <class V>
void walk(V& v, ParityPlace& x) {
  v("verdict", x.verdict), v("file", x.file), v("line", x.line), v("ours", x.ours), v("theirs", x.theirs);
}
template <class V>
void walk(V& v, Parity& x) {
  v("schema", x.schema), v("torch", x.torch), v("ours", x.ours), v("theirs", x.theirs), v("places", x.places);
}
template <class V>
void walk(V& v, KnownBreak& x) {
  v("file", x.file), v("function", x.function), v("reason", x.reason), v("code", x.code), v("line", x.line);
}
template <class V>
void walk(V& v, Budget& x) {
  v("schema", x.schema), v("breaks", x.breaks), v("graphs", x.graphs), v("given_up", x.given_up);
  v("time_ratio", x.time_ratio), v("known", x.known);
}
template <class V>
void walk(V& v, Excess& x) {
  v("what", x.what), v("sentence", x.sentence), v("allowed", x.allowed), v("measured", x.measured);
}
template <class V>
void walk(V& v, CheckResult& x) {
  v("schema", x.schema), v("within", x.within), v("breaks", x.breaks), v("graphs", x.graphs);
  v("given_up", x.given_up), v("time_ratio", x.time_ratio), v("time_low", x.time_low);
  v("time_high", x.time_high), v("over", x.over), v("new", x.added), v("gone", x.gone), v("notes", x.notes);
}
template <class V>
void walk(V& v, OpenParams& x) {
  v("target", x.target), v("argv", x.argv), v("inputs", x.inputs), v("overlays", x.overlays);
  v("device", x.device), v("train", x.train), v("no_grad", x.no_grad), v("seed", x.seed);
  v("fullgraph", x.fullgraph), v("text", x.text);
}
template <class V>
void walk(V& v, TimeParams& x) {
  v("target", x.target), v("arms", x.arms), v("rounds", x.rounds), v("budget_s", x.budget_s);
  v("threads", x.threads), v("block_ms", x.block_ms), v("full", x.full), v("without", x.without);
}

template <class V>
void walk(V& v, TimelineParams& x) {
  v("target", x.target), v("calls", x.calls);
}
template <class V>
void walk(V& v, TimelineParts& x) {
  v("entry", x.entry), v("segments", x.segments), v("breaks", x.breaks), v("python", x.python);
  v("exit", x.exit), v("compile", x.compile), v("call", x.call);
}
template <class V>
void walk(V& v, Timeline& x) {
  v("schema", x.schema), v("target", x.target), v("calls", x.calls), v("call_us", x.call_us);
  v("recorded_call_us", x.recorded_call_us), v("parts_us", x.parts_us), v("events_a_call", x.events_a_call);
  v("event_ns", x.event_ns), v("event_share", x.event_share);
}

}  // namespace breakline::protocol
