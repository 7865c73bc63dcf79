// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/client/check.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace breakline::client {
namespace {

using protocol::Break;
using protocol::Budget;
using protocol::CheckResult;
using protocol::KnownBreak;

std::string relative(const std::string& file, const std::string& folder) {
  if (folder.empty()) return file;
  const std::filesystem::path path = std::filesystem::path(file).lexically_relative(folder);
  return path.empty() || *path.begin() == ".." ? file : path.generic_string();
}

KnownBreak known(const Break& b, const std::string& folder) {
  return {relative(b.file, folder), b.chain.empty() ? "" : b.chain.back().function, b.reason, b.code, b.line};
}

bool same(const KnownBreak& a, const KnownBreak& b) {
  return a.file == b.file && a.function == b.function && a.reason == b.reason && a.code == b.code;
}

/// Those of `list` that have no partner in `others`.
std::vector<KnownBreak> without(const std::vector<KnownBreak>& list, std::vector<KnownBreak> others) {
  std::vector<KnownBreak> left;
  for (const KnownBreak& k : list) {
    const auto partner =
        std::find_if(others.begin(), others.end(), [&](const KnownBreak& o) { return same(k, o); });
    if (partner == others.end())
      left.push_back(k);
    else
      others.erase(partner);
  }
  return left;
}

std::vector<KnownBreak> breaks_of(const CheckInput& input) {
  std::vector<KnownBreak> list;
  for (const Break& b : input.report->breaks) list.push_back(known(b, input.folder));
  return list;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

std::string place(const KnownBreak& k) {
  return k.file + ":" + std::to_string(k.line) + "  " + k.reason + (k.code.empty() ? "" : "  " + k.code);
}

void limit(CheckResult& r, const char* what, const std::optional<int>& allowed, int measured) {
  if (!allowed || measured <= *allowed) return;
  r.over.push_back({what,
                    std::string("more ") + what + " than allowed: " + std::to_string(measured) +
                        " instead of " + std::to_string(*allowed),
                    static_cast<double>(*allowed), static_cast<double>(measured)});
}

void limit_time(CheckResult& r, const CheckInput& input, double allowed) {
  const protocol::Arm* arm = nullptr;
  if (input.timings)
    for (const protocol::Arm& a : input.timings->arms)
      if (a.id == input.device) arm = &a;
  if (!arm || !arm->ratio) {
    r.over.push_back(
        {"time ratio",
         "the compiled code could not be timed" + (arm && !arm->reason.empty() ? ": " + arm->reason : ""),
         allowed, 0});
    return;
  }
  r.time_ratio = arm->ratio->value;
  r.time_low = arm->ratio->low;
  r.time_high = arm->ratio->high;
  const std::string interval = number(arm->ratio->value) + " times eager's speed (" +
                               number(arm->ratio->low) + " to " + number(arm->ratio->high) + ")";
  if (arm->ratio->high < allowed)
    r.over.push_back({"time ratio", interval + ", at least " + number(allowed) + " is asked for", allowed,
                      arm->ratio->value});
  else if (arm->ratio->low < allowed)
    r.notes.push_back(interval + ": whether that is less than the " + number(allowed) +
                      " asked for can't be told from this run");
  if (!arm->equal)
    r.over.push_back(
        {"result", "the output " + arm->error_note + " from eager's", 0, arm->max_abs_err.value_or(0)});
}

}  // namespace

CheckResult check(const CheckInput& input, const Budget& budget) {
  CheckResult r;
  const std::vector<KnownBreak> now = breaks_of(input);
  r.breaks = static_cast<int>(now.size());
  for (const protocol::Target& t : input.report->targets) {
    r.graphs += t.graphs;
    r.given_up += t.skipped;
  }
  limit(r, "breaks", budget.breaks, r.breaks);
  limit(r, "graphs", budget.graphs, r.graphs);
  limit(r, "frames given up", budget.given_up, r.given_up);
  if (budget.known) {
    r.added = without(now, *budget.known);
    r.gone = without(*budget.known, now);
  }
  if (budget.time_ratio) limit_time(r, input, *budget.time_ratio);
  r.within = r.over.empty();
  return r;
}

Budget budget_of(const CheckInput& input, const std::optional<Budget>& before) {
  const CheckResult now = check(input, {});
  Budget b;
  if (before) b = *before;
  if (!before || before->breaks) b.breaks = now.breaks;
  if (!before || before->graphs) b.graphs = now.graphs;
  if (!before || before->given_up) b.given_up = now.given_up;
  if (!before || before->known) b.known = breaks_of(input);
  return b;
}

std::string check_text(const CheckResult& r, const std::string& target) {
  std::string out = target + (r.within ? ": within its budget" : ": over its budget") + " (" +
                    std::to_string(r.breaks) + (r.breaks == 1 ? " break, " : " breaks, ") +
                    std::to_string(r.graphs) + (r.graphs == 1 ? " graph" : " graphs") +
                    (r.time_ratio ? ", " + number(*r.time_ratio) + " times eager's speed" : "") + ")\n";
  for (const protocol::Excess& e : r.over) out += "  over: " + e.sentence + "\n";
  for (const KnownBreak& k : r.added) out += "  new:  " + place(k) + "\n";
  for (const KnownBreak& k : r.gone) out += "  gone: " + place(k) + "\n";
  for (const std::string& note : r.notes) out += "  note: " + note + "\n";
  return out;
}

std::string check_markdown(const CheckResult& r, const std::string& target) {
  std::string out = "### Breakline: " + target + "\n\n" +
                    (r.within ? "Within its budget.\n\n" : "**Over its budget.**\n\n");
  out += "| | found |\n|---|---|\n| breaks | " + std::to_string(r.breaks) + " |\n| graphs | " +
         std::to_string(r.graphs) + " |\n| frames given up | " + std::to_string(r.given_up) + " |\n";
  if (r.time_ratio)
    out += "| eager ÷ compiled | " + number(*r.time_ratio) + " (" + number(*r.time_low) + " to " +
           number(*r.time_high) + ") |\n";
  const auto list = [&](const char* title, const std::vector<KnownBreak>& breaks) {
    if (breaks.empty()) return;
    out += "\n**" + std::string(title) + "**\n\n";
    for (const KnownBreak& k : breaks)
      out += "- `" + k.file + ":" + std::to_string(k.line) + "` " + k.reason +
             (k.code.empty() ? "" : ": `" + k.code + "`") + "\n";
  };
  if (!r.over.empty()) {
    out += "\n**Over**\n\n";
    for (const protocol::Excess& e : r.over) out += "- " + e.sentence + "\n";
  }
  list("New breaks", r.added);
  list("Breaks that are gone", r.gone);
  for (const std::string& note : r.notes) out += "\n" + note + "\n";
  return out;
}

}  // namespace breakline::client
