// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/client/report_text.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "core/client/colour.h"

namespace breakline::client {
namespace {

using protocol::Break;
using protocol::Report;
using protocol::Segment;
using protocol::Target;

/// Columns that a UTF-8 text takes, counting a code point as one.
std::size_t columns(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](unsigned char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(std::string text, std::size_t width) {
  const std::size_t have = columns(text);
  return have < width ? text.append(width - have, ' ') : text;
}

std::string plural(long long count, const std::string& one, const std::string& many = "") {
  return std::to_string(count) + " " + (count == 1 ? one : many.empty() ? one + "s" : many);
}

std::string number(double value) {
  char text[32];
  if (value != 0 && (value >= 1e6 || value < 1e-3))
    std::snprintf(text, sizeof text, "%.2e", value);
  else
    std::snprintf(text, sizeof text,
                  value >= 1000  ? "%.0f"
                  : value >= 100 ? "%.1f"
                  : value >= 10  ? "%.2f"
                                 : "%.3f",
                  value);
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

class Writer {
 public:
  explicit Writer(const TextOptions& options) : options_(options) {}

  std::string paint(const std::string& text, const char* code) const {
    return painted(text, code, options_.colour);
  }
  std::string short_path(const std::string& path) const {
    const std::string prefix = options_.folder + "/";
    return !options_.folder.empty() && path.rfind(prefix, 0) == 0 ? path.substr(prefix.size()) : path;
  }
  std::string place(const std::string& file, int line) const {
    return short_path(file) + ":" + std::to_string(line);
  }
  void line(const std::string& text = "") { out_ << text << "\n"; }
  void indented(const std::string& text, const std::string& indent) {
    for (const std::string& one : lines_of(text)) line(one.empty() ? "" : indent + one);
  }
  std::string text() const { return out_.str(); }

  void header(const Report& report);
  void target(const Target& target);
  void policy(const Report& report);
  void ending(const Report& report);

 private:
  void segment(const Segment& segment);
  void one_break(const Break& item, int number);
  void source_line(const Break& item);

  const TextOptions& options_;
  std::ostringstream out_;
  std::map<std::string, std::vector<std::string>> files_;
};

void Writer::header(const Report& report) {
  std::string words = paint(short_path(report.file), kBold) + "   PyTorch " + report.torch + ", Python " +
                      report.python + ", " + report.device + ", " + plural(report.threads, "thread");
  line(words);
}

/// Ops in program order, one text line for each source line they stand on.
void Writer::segment(const Segment& segment) {
  std::string head = "  " + paint("graph " + segment.id, kCyan) + "  " + segment.function + "  " +
                     place(segment.file, segment.line);
  if (segment.end_line > segment.line) head += "-" + std::to_string(segment.end_line);
  head += "   " + plural(static_cast<long long>(segment.ops.size()), "op") + ", plan " + segment.plan;
  if (segment.kernels) head += ", " + plural(segment.kernels, "kernel");
  head += ", " + plural(segment.runs, "run");
  if (!segment.plan_reason.empty()) head += paint("   (" + segment.plan_reason + ")", kDim);
  line(head);
  for (std::size_t first = 0; first < segment.ops.size();) {
    std::size_t last = first;
    std::string names;
    const auto same_place = [&](const protocol::Op& op) {
      return op.file == segment.ops[first].file && op.line == segment.ops[first].line;
    };
    for (; last < segment.ops.size() && same_place(segment.ops[last]); ++last)
      names += (names.empty() ? "" : ", ") + segment.ops[last].name;
    const protocol::Op& end = segment.ops[last - 1];
    const bool same_file = end.file == segment.file || end.file.empty();
    std::string where = same_file ? std::to_string(end.line) : place(end.file, end.line);
    std::string row = "      " + padded(where, 6) + " " + padded(names, 40);
    if (!end.shape.empty() || !end.dtype.empty()) row += " " + end.dtype + end.shape;
    if (!end.module.empty()) row += paint("  " + end.module, kDim);
    while (!row.empty() && row.back() == ' ') row.pop_back();
    line(row);
    first = last;
  }
}

void Writer::source_line(const Break& item) {
  auto [entry, fresh] = files_.try_emplace(item.file);
  if (fresh) {
    std::ifstream file(item.file);
    std::ostringstream text;
    text << file.rdbuf();
    entry->second = lines_of(text.str());
  }
  if (item.line < 1 || static_cast<std::size_t>(item.line) > entry->second.size()) return;
  const std::string& source = entry->second[static_cast<std::size_t>(item.line) - 1];
  const std::size_t skip = std::min(source.find_first_not_of(" \t"), source.size());
  line("      " + paint("|", kDim) + " " + source.substr(skip));
  const auto from = static_cast<std::size_t>(std::max(item.column, 0));
  if (item.column < 0 || from < skip || from >= source.size()) return;
  const bool one_line = item.end_line <= item.line && item.end_column > item.column;
  const std::size_t to =
      std::min(one_line ? static_cast<std::size_t>(item.end_column) : source.size(), source.size());
  // columns are bytes, as in CPython's table; the marks count code points
  const std::size_t before = columns(source.substr(skip, from - skip));
  const std::size_t marks = std::max<std::size_t>(1, columns(source.substr(from, to - from)));
  line("      " + paint("|", kDim) + " " + std::string(before, ' ') +
       paint(std::string(marks, '^'), kYellow));
}

void Writer::one_break(const Break& item, int number) {
  const bool error = item.policy.effective == "error";
  std::string head = "  " + paint("break " + std::to_string(number), error ? kRed : kYellow) + "  " +
                     paint(place(item.file, item.line), kBold);
  if (item.column >= 0) head += ":" + std::to_string(item.column + 1);
  if (item.column >= 0 && item.end_column >= 0 && item.end_line == item.line)
    head += "-" + std::to_string(item.end_column);
  head += "   " + item.type;
  line(head);
  source_line(item);
  line("      policy: " + paint(item.policy.effective, error ? kRed : kGreen) + " (" + item.policy.source +
       ")   " + plural(item.events, "event") + "   reason: " + item.reason +
       (item.gb_id ? " (" + *item.gb_id + ")" : ""));
  if (!item.explanation.empty()) {
    const auto explanation = lines_of(item.explanation);
    for (std::size_t n = 0; n < explanation.size(); ++n)
      line(n == 0 ? "      Explanation: " + explanation[n] : "        " + explanation[n]);
  }
  for (const std::string& hint : item.hints) line("      Hint: " + hint);
  if (!item.context.empty()) line(paint("      Context: " + lines_of(item.context + "\n").front(), kDim));
  if (item.chain.size() > 1) {
    line("      called through:");
    int left_out = 0;  // frames of PyTorch and the standard library only lengthen the list
    for (const protocol::Frame& frame : item.chain) {
      const bool library = frame.file.find("/site-packages/") != std::string::npos ||
                           frame.file.find("/dist-packages/") != std::string::npos;
      left_out += library;
      if (!library) line("        " + place(frame.file, frame.line) + " in " + frame.function);
    }
    if (left_out) line(paint("        (and " + plural(left_out, "library frame") + ")", kDim));
  }
}

void Writer::target(const Target& target) {
  line();
  std::string head = paint(target.name, kBold) + "   " + target.kind;
  if (!target.file.empty()) head += ", " + place(target.file, target.line);
  if (target.fullgraph) head += ", fullgraph";
  line(head);
  std::string counts = "  " + plural(target.graphs, "graph") + ", " + plural(target.ops, "op") + ", " +
                       plural(target.breaks_traced, "break") + " at " + plural(target.places, "place") +
                       ", " + plural(target.recompiles, "recompile") + ", " +
                       plural(target.skipped, "skipped frame");
  line(counts);
  std::set<std::string> printed;
  int number = 0;
  const auto breaks_after = [&](const std::optional<std::string>& segment_id) {
    for (const Break& item : target.breaks) {
      const bool rejected_midway = !segment_id && item.policy.effective == "error";  // those come last
      if (item.before == segment_id && !rejected_midway && printed.insert(item.id).second)
        one_break(item, ++number);
    }
  };
  breaks_after(std::nullopt);
  for (const Segment& one : target.segments) {
    if (!one.ops.empty()) segment(one);
    breaks_after(one.id);
  }
  for (const Break& item : target.breaks)
    if (printed.insert(item.id).second) one_break(item, ++number);
  for (const protocol::SkippedFrame& frame : target.skipped_frames)
    line("  " + paint("skipped", kYellow) + "  " + frame.name + "  " + place(frame.file, frame.line) + "   " +
         frame.reason);
  if (target.side_effects)
    line("  It has effects outside (prints, files): they happen again with each recompile.");
  for (const std::string& name : target.uncloneable)
    line("  Not kept in the recording: " + name + "; a toggle runs the script again.");
  if (target.error) {
    line("  " + paint("error", kRed) + "  " + target.error->type);
    indented(target.error->traceback.empty() ? target.error->message : target.error->traceback, "    ");
  }
}

void Writer::policy(const Report& report) {
  if (!report.regions.empty()) {
    line();
    line(paint("Policy", kBold));
    std::size_t width = 0;
    for (const protocol::Region& region : report.regions)
      width = std::max(width, columns(region.key) + 2 * static_cast<std::size_t>(region.depth));
    width = std::min<std::size_t>(width, 70);
    for (const protocol::Region& region : report.regions) {
      std::string row =
          "  " + padded(std::string(2 * static_cast<std::size_t>(region.depth), ' ') + region.key, width) +
          "  ";
      row += paint(padded(region.effective, 6), region.effective == "error" ? kRed : kGreen);
      const std::string where = region.source != region.key   ? region.source
                                : region.overlay == "inherit" ? "declared here"
                                                              : "overlay";
      row += padded("(" + where + ")", 18);
      if (region.breaks) row += "  " + plural(region.breaks, "break");
      while (row.back() == ' ') row.pop_back();
      line(row);
    }
  }
  for (const protocol::OverlayState& overlay : report.overlays) {
    if (overlay.effect) continue;
    line("  overlay " + overlay.key + "=" + overlay.value +
         (overlay.active ? " has no effect" : " is inactive") +
         (overlay.note.empty() ? "" : ": " + overlay.note) + ".");
  }
  line();
  const auto& rejects = report.preview.strict_rejects;
  if (rejects.empty()) {
    line("A strict policy would reject nothing.");
    return;
  }
  const auto position = [&](const std::string& id) {
    for (const Break& item : report.breaks)
      if (item.id == id) return place(item.file, item.line);
    return id;
  };
  std::string text =
      "A strict policy would reject " + plural(static_cast<long long>(rejects.size()), "break") + ": ";
  for (std::size_t n = 0; n < rejects.size(); ++n) text += (n ? ", " : "") + position(rejects[n]);
  if (report.preview.first) text += "; PyTorch would raise " + position(*report.preview.first) + " first";
  line(text + ".");
}

void Writer::ending(const Report& report) {
  for (const std::string& warning : report.warnings) line("Warning: " + warning);
  char times[160];
  const auto refused = [](const Target& one) { return one.error && one.error->break_id && !one.graphs; };
  if (report.timing_ms.trace > 0)
    std::snprintf(times, sizeof times, "Run %.1f ms, of it tracing %.2f ms and compiling %.2f ms.",
                  report.timing_ms.run, report.timing_ms.trace, report.timing_ms.compile);
  else  // times are those of segments, and a refused trace leaves none
    std::snprintf(times, sizeof times, "Run %.1f ms; %s.", report.timing_ms.run,
                  std::any_of(report.targets.begin(), report.targets.end(), refused)
                      ? "the trace was refused, so nothing was compiled"
                      : "nothing was compiled");
  line(paint(times, kDim));
  if (!options_.strict) return;
  if (report.breaks.empty())
    line(paint("strict: no break is left", kGreen));
  else
    line(paint(
        "strict: " + plural(static_cast<long long>(report.breaks.size()), "break is", "breaks are") + " left",
        kRed));
}

}  // namespace

std::string report_text(const Report& report, const TextOptions& options) {
  Writer writer(options);
  writer.header(report);
  for (const Target& target : report.targets) writer.target(target);
  writer.policy(report);
  writer.ending(report);
  return writer.text();
}

std::string parity_text(const protocol::Parity& parity, const TextOptions& options) {
  Writer writer(options);
  writer.line(writer.paint("Breakline and torch.compile of PyTorch " + parity.torch, kBold));
  writer.line("  " + padded("", 12) + padded("graphs", 8) + padded("ops", 8) + padded("places", 8) +
              padded("frames given up", 17) + "trace ms");
  const auto side = [&](const char* name, const protocol::ParitySide& it) {
    writer.line("  " + padded(name, 12) + padded(std::to_string(it.graphs), 8) +
                padded(std::to_string(it.ops), 8) + padded(std::to_string(it.places), 8) +
                padded(std::to_string(it.given_up), 17) + number(it.trace_ms));
    if (!it.error.empty()) writer.line("    " + writer.paint(it.error, kRed));
  };
  side("Breakline", parity.ours);
  side("PyTorch", parity.theirs);
  for (const protocol::ParityPlace& p : parity.places) {
    const char* colour = p.verdict == "agree" ? kGreen : p.verdict == "only ours" ? kRed : kYellow;
    writer.line("  " + writer.paint(padded(p.verdict, 13), colour) + writer.place(p.file, p.line));
    if (!p.ours.empty()) writer.line("    Breakline: " + p.ours);
    if (!p.theirs.empty()) writer.line("    PyTorch:   " + p.theirs);
  }
  if (parity.places.empty()) writer.line("  No graph break on either side.");
  const bool excused =
      parity.theirs.given_up && std::any_of(parity.places.begin(), parity.places.end(),
                                            [](const auto& p) { return p.verdict == "only ours"; });
  if (excused)
    writer.line(
        "  PyTorch gave up a frame, whose breaks it does not tell: places that are only ours count as no "
        "failure.");
  return writer.text();
}

std::string dump_text(const protocol::Dump& dump, const TextOptions& options) {
  Writer writer(options);
  for (const protocol::DumpEntry& entry : dump.entries) {
    std::string title = entry.target + " " + entry.id;
    if (entry.function != entry.id) title += " " + entry.function;
    title += " (" + writer.place(entry.file, entry.line) + ")";
    if (!entry.plan.empty()) title += " plan " + entry.plan;
    writer.line(writer.paint("== " + title, kBold));
    writer.line(entry.text.empty() ? "; the " + entry.plan + " plan has no stage " + dump.stage + " here\n"
                                   : entry.text);
  }
  if (dump.entries.empty()) writer.line("No graph: there is nothing to print at this stage.");
  return writer.text();
}

}  // namespace breakline::client
