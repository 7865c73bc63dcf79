// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/client/timings_text.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "core/client/colour.h"

namespace breakline::client {
namespace {

using protocol::Arm;
using protocol::Timings;

std::string format(const char* pattern, double value) {
  char text[48];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

/// Four significant digits, or an exponent where that would not do.
std::string number(double value) {
  if (value != 0 && (value >= 1e6 || value < 1e-3)) return format("%.2e", value);
  return format(value >= 1000 ? "%.0f" : value >= 100 ? "%.1f" : value >= 10 ? "%.2f" : "%.3f", value);
}

std::string ratio(const protocol::Interval& r) {
  return number(r.value) + "x (" + number(r.low) + "-" + number(r.high) + ")";
}

std::string cell(const std::optional<double>& value) { return value ? number(*value) : ""; }

std::string error_of(const std::optional<double>& value) {
  return !value ? "" : *value == 0 ? "0" : format("%.1e", *value);
}

/// One column: its title and what it says of an arm.
struct Column {
  const char* title;
  std::string (*text)(const Arm&);
};

const Column kColumns[] = {
    {"median us", [](const Arm& a) { return cell(a.median_us); }},
    {"IQR us",
     [](const Arm& a) {
       return a.iqr_us && a.iqr_us->size() == 2 ? number((*a.iqr_us)[0]) + "-" + number((*a.iqr_us)[1])
                                                : std::string();
     }},
    {"mean us", [](const Arm& a) { return cell(a.mean_us); }},
    {"eager / arm", [](const Arm& a) { return a.ratio ? ratio(*a.ratio) : std::string(); }},
    {"verdict", [](const Arm& a) { return a.verdict.value_or(a.verdict_note.empty() ? "" : "withheld"); }},
    {"compile ms", [](const Arm& a) { return a.compile_ms > 0 ? number(a.compile_ms) : std::string(); }},
    {"calls to gain",
     [](const Arm& a) { return a.break_even_calls ? std::to_string(*a.break_even_calls) : std::string(); }},
    {"of floor",
     [](const Arm& a) { return a.roof_percent ? format("%.1f %%", *a.roof_percent) : std::string(); }},
    {"error to f64", [](const Arm& a) { return error_of(a.double_rel_err); }},
    {"output",
     [](const Arm& a) {
       return a.error_note +
              (a.max_abs_err && *a.max_abs_err > 0 ? ", max error " + number(*a.max_abs_err) : "");
     }},
};

class Writer {
 public:
  explicit Writer(const TextOptions& options) : options_(options) {}
  std::string paint(const std::string& text, const char* code) const {
    return painted(text, code, options_.colour);
  }
  void line(const std::string& text) { out_ += text + "\n"; }
  const std::string& text() const { return out_; }

  void table(const std::vector<Arm>& arms) {
    std::size_t name_width = 0;
    for (const Arm& arm : arms) name_width = std::max(name_width, arm.name.size());
    std::vector<std::size_t> widths;
    for (const Column& column : kColumns) {
      std::size_t width = 0;
      for (const Arm& arm : arms)
        if (timed(arm)) width = std::max(width, column.text(arm).size());
      widths.push_back(width ? std::max(width, std::string(column.title).size()) + 2 : 0);
    }
    std::string head = "  " + std::string(name_width + 2, ' ');
    for (std::size_t c = 0; c < widths.size(); ++c)
      if (widths[c]) head += padded(kColumns[c].title, widths[c]);
    line(trimmed(head));
    for (const Arm& arm : arms) {
      std::string row = "  " + padded(arm.name, name_width + 2);
      if (!timed(arm)) {
        line(row + paint("not measured: " + arm.reason, kDim));
        continue;
      }
      for (std::size_t c = 0; c < widths.size(); ++c)
        if (widths[c]) row += coloured(arm, padded(kColumns[c].text(arm), widths[c]), kColumns[c].title);
      row = trimmed(row);
      if (!arm.reason.empty()) row += paint("   (" + arm.reason + ")", kDim);
      line(row);
    }
  }

 private:
  static bool timed(const Arm& arm) { return arm.available && arm.median_us; }
  static std::string padded(std::string text, std::size_t width) {
    return text.size() < width ? text.append(width - text.size(), ' ') : text;
  }
  static std::string trimmed(std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }
  std::string coloured(const Arm& arm, const std::string& text, const char* title) const {
    if (std::string(title) != "verdict" || !arm.verdict) return text;
    return *arm.verdict == "faster"   ? paint(text, kGreen)
           : *arm.verdict == "slower" ? paint(text, kRed)
                                      : text;
  }

  const TextOptions& options_;
  std::string out_;
};

std::string heading(const Timings& t) {
  std::string text = "   " + std::to_string(t.threads) + (t.threads == 1 ? " thread" : " threads") +
                     ", BLAS " + t.blas + ", " + t.allocator + "; " + std::to_string(t.rounds) +
                     (t.rounds == 1 ? " round" : " rounds");
  if (t.block_ms > 0) text += " of blocks of " + format("%g", t.block_ms) + " ms";
  return text + " after " + std::to_string(t.warmup) + " for warm-up; " + t.load_note;
}

void compile_costs(Writer& writer, const Timings& t) {
  for (const Arm& arm : t.arms) {
    if (!arm.compile || !arm.available) continue;
    const protocol::CompileCost& cost = *arm.compile;
    std::string text = "  compile time, " + arm.name + ":";
    const char* separator = " ";
    const auto add = [&](const char* what, const std::optional<double>& value) {
      if (!value) return;
      text += separator + std::string(what) + " " + number(*value) + " ms";
      separator = ", ";
    };
    add("cold", cost.cold_ms), add("warm", cost.warm_ms), add("incremental", cost.incremental_ms);
    writer.line(text + (cost.note.empty() ? "" : writer.paint("   (" + cost.note + ")", kDim)));
  }
}

void roofline(Writer& writer, const protocol::Roofline& r) {
  std::string text = "  floor " + number(r.floor_us) + " us (" + r.bound + "): " + number(r.bytes / 1e6) +
                     " MB at " + number(r.bandwidth_gb_s) + " GB/s";
  if (r.peak_gflop_s)
    text += ", " + number(r.flops / 1e6) + " Mflop, products at " + number(*r.peak_gflop_s) + " Gflop/s";
  writer.line(text + writer.paint("   (" + r.note + ")", kDim));
}

void what_if(Writer& writer, const protocol::WhatIf& w) {
  const auto saving = [](const char* what, const std::optional<protocol::Saving>& s) {
    return s ? std::string(what) + number(s->us) + " us a call (" + number(s->low) + " to " +
                   number(s->high) + ")"
             : std::string();
  };
  std::string text = "  without the break at " + w.place + ":";
  text += saving(" saves ", w.measured);
  if (w.measured && w.verdict) text += " (" + *w.verdict + ")";
  if (w.predicted) text += saving("; its own parts are ", w.predicted);
  writer.line(text + (w.note.empty() ? "" : writer.paint("   (" + w.note + ")", kDim)));
}

}  // namespace

std::string timings_text(const Timings& timings, const TextOptions& options) {
  Writer writer(options);
  writer.line(writer.paint(timings.target, kBold) + heading(timings));
  writer.table(timings.arms);
  if (timings.noise)
    writer.line("  noise (eager against itself): " +
                ratio({timings.noise->ratio, timings.noise->low, timings.noise->high}));
  compile_costs(writer, timings);
  if (timings.roofline) roofline(writer, *timings.roofline);
  if (timings.what_if) what_if(writer, *timings.what_if);
  if (!timings.double_note.empty()) writer.line("  no error to f64: " + timings.double_note);
  for (const std::string& warning : timings.warnings) writer.line("  Warning: " + warning);
  return writer.text();
}

std::string timeline_text(const protocol::Timeline& t) {
  std::string out = t.target + "   " + std::to_string(t.calls) + (t.calls == 1 ? " call of " : " calls of ") +
                    number(t.call_us) + " us (" + number(t.recorded_call_us) + " us recorded)\n";
  if (t.parts_us) {
    const protocol::TimelineParts& p = *t.parts_us;
    const std::pair<const char*, double> rows[] = {{"guards and inputs", p.entry},
                                                   {"segments", p.segments},
                                                   {"leaving and entering at breaks", p.breaks},
                                                   {"Python between", p.python},
                                                   {"results", p.exit},
                                                   {"tracing and compiling", p.compile}};
    for (const auto& [name, us] : rows) {
      if (us <= 0) continue;
      std::string row = "  " + std::string(name);
      row.resize(36, ' ');
      out += row + number(us) + " us" + (p.call > 0 ? format("   %.1f %%", 100 * us / p.call) : "") + "\n";
    }
  }
  return out + "  " + number(t.events_a_call) + " events a call at " + number(t.event_ns) +
         " ns: " + format("%.2f %%", 100 * t.event_share) + " of the call\n";
}

}  // namespace breakline::client
