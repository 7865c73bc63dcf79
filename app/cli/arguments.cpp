// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/arguments.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include "core/protocol/json.h"

namespace breakline::cli {
namespace {

struct CommandRow {
  const char* name;
  Command command;
  const char* usage;
  const char* summary;
};
constexpr CommandRow kCommands[] = {
    {"explain", Command::kExplain, "breakline explain TARGET [options] [-- ARGS...]",
     "compile a target and report its graphs, breaks and policies"},
    {"time", Command::kTime, "breakline time TARGET [options] [-- ARGS...]",
     "time a target: eager and compiled, on the CPU and the Vulkan device"},
    {"bench", Command::kBench, "breakline bench TARGET [options] [-- ARGS...]",
     "time a target in full: also inference_mode and PyTorch's torch.compile, errors against float64, "
     "compile "
     "times and the machine's floor"},
    {"parity", Command::kParity, "breakline parity TARGET [options] [-- ARGS...]",
     "compare a target's breaks with those of the interpreter's own torch.compile; fails (exit 1) on a place "
     "that is only ours, unless PyTorch gave up a frame"},
    {"check", Command::kCheck, "breakline check TARGET --budget FILE [options] [-- ARGS...]",
     "a gate for CI: breaks, graphs, frames given up and the time ratio against a budget file; fails (exit "
     "1) when one is over"},
    {"trace-export", Command::kTraceExport, "breakline trace-export TARGET -o FILE [options] [-- ARGS...]",
     "record calls of a target as a timeline for Perfetto or chrome://tracing: guards, segments, kernels and "
     "the "
     "Python between"},
    {"dump", Command::kDump, "breakline dump TARGET --stage STAGE [options] [-- ARGS...]",
     "print one stage of compilation: bytecode, graph, passes, schedule, kernel-ir, llvm, asm, glsl or "
     "spirv"},
    {"run", Command::kRun, "breakline run [--python PATH] SCRIPT|-m MODULE [ARGS...]",
     "run a script, or a module as a script, with torch.compile being Breakline's"},
    {"python", Command::kPython, "breakline python [ARGS...]",
     "run the chosen interpreter with the breakline package importable"},
    {"diagnose", Command::kDiagnose, "breakline diagnose FILE|- [--zh] [--json]",
     "look up a pasted error, log or traceback; nothing is run; exit 1 when nothing known matches"},
};

const CommandRow* find_command(const std::string& name) {
  for (const CommandRow& row : kCommands)
    if (name == row.name) return &row;
  return nullptr;
}

/// One option: which commands take it (bits of Command), whether it has a value, and what it does.
struct Option {
  const char* name;
  unsigned commands;
  const char* value;  ///< nullptr: a switch
  const char* help;
  std::function<std::optional<Error>(Arguments&, const std::string&)> apply;
};

constexpr unsigned bit(Command command) { return 1u << static_cast<unsigned>(command); }
constexpr unsigned kTimed = bit(Command::kTime) | bit(Command::kBench);
constexpr unsigned kEngine = bit(Command::kExplain) | bit(Command::kTime) | bit(Command::kBench) |
                             bit(Command::kParity) | bit(Command::kCheck) | bit(Command::kDump) |
                             bit(Command::kTraceExport);

using Outcome = std::optional<Error>;

/// What `--arm` takes.
constexpr const char* kArms[] = {"eager",    "eager_aa", "inference",    "eager_peer",
                                 "inductor", "cpu",      "vulkan_eager", "vulkan"};

/// The arms that `bench --device` times; eager and its repetition always are.
struct DeviceArms {
  const char* device;
  std::vector<std::string> arms;
};
const DeviceArms kDeviceArms[] = {
    {"cpu", {"inference", "eager_peer", "inductor", "cpu"}},
    {"vulkan", {"inference", "vulkan_eager", "vulkan"}},
    {"all", {"inference", "eager_peer", "inductor", "cpu", "vulkan_eager", "vulkan"}},
};

/// What `--stage` takes.
constexpr const char* kStages[] = {"bytecode", "graph", "passes", "schedule", "kernel-ir",
                                   "llvm",     "asm",   "glsl",   "spirv"};

Result<double> positive_number(const std::string& text, const char* what) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !(value > 0) || !std::isfinite(value))
    return Error{std::string(what) + " takes a number above 0, not '" + text + "'."};
  return value;
}

Result<long long> whole_number(const std::string& text, const char* what) {
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end || errno || value < 0)
    return Error{std::string(what) + " takes a whole number, not '" + text + "'."};
  return value;
}

Outcome add_policy(Arguments& out, const std::string& text) {
  const auto equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return Error{"--policy takes KEY=VALUE, as in --policy fn:model.py:Net.forward=error, not '" + text +
                 "'."};
  out.open.overlays.push_back({text.substr(0, equals), text.substr(equals + 1)});
  return {};
}

Outcome add_policy_file(Arguments& out, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{"The policy file " + path + " can't be read: check the path."};
  std::ostringstream text;
  text << file.rdbuf();
  const auto overlays = protocol::parse_overlays(text.str());
  if (!overlays)
    return Error{"The policy file " + path + " is not usable: " + overlays.error().message +
                 "; write [{\"key\": \"fn:model.py:forward\", \"value\": \"error\"}]."};
  out.open.overlays.insert(out.open.overlays.end(), overlays->begin(), overlays->end());
  return {};
}

template <class T>
Outcome store(const Result<T>& value, const std::function<void(T)>& put) {
  if (!value) return value.error();
  put(*value);
  return {};
}

Outcome set_output(Arguments& out, const std::string& path) {
  if (path.empty()) return Error{"--output takes the path of a file."};
  out.output = path;
  return {};
}

const std::vector<Option>& options() {
  static const std::vector<Option> table = {
      {"--json", kEngine | bit(Command::kDiagnose), nullptr,
       "print JSON only; the user's output goes to stderr",
       [](Arguments& a, const std::string&) -> Outcome {
         a.json = true;
         return {};
       }},
      {"--strict", bit(Command::kExplain), nullptr, "fail (exit 1) when a break is left",
       [](Arguments& a, const std::string&) -> Outcome {
         a.strict = true;
         return {};
       }},
      {"--policy", kEngine & ~bit(Command::kParity), "KEY=VALUE",
       "overlay: fn:FILE:QUALNAME, lines:FILE:A-B or module:TARGET:PATH = inherit, allow or error "
       "(repeatable)",
       add_policy},
      {"--policy-file", kEngine & ~bit(Command::kParity), "FILE", "overlays from a JSON file",
       add_policy_file},
      {"--input", kEngine, "[NAME=]SPEC",
       "an input of TARGET's call: f32[8,16], i64[2,8]<1000, f32[4]! (requires grad) or a Python literal "
       "(repeatable)",
       [](Arguments& a, const std::string& v) -> Outcome {
         a.open.inputs.push_back(v);
         return {};
       }},
      {"--device", kEngine & ~bit(Command::kParity) & ~bit(Command::kBench), "DEVICE", "cpu or vulkan",
       [](Arguments& a, const std::string& v) -> Outcome {
         if (v != "cpu" && v != "vulkan") return Error{"--device takes cpu or vulkan, not '" + v + "'."};
         a.open.device = v;
         return {};
       }},
      {"--train", kEngine, nullptr, "call a module in training mode with gradients",
       [](Arguments& a, const std::string&) -> Outcome {
         a.open.train = true;
         return {};
       }},
      {"--no-grad", kEngine, nullptr, "call the target under torch.no_grad()",
       [](Arguments& a, const std::string&) -> Outcome {
         a.open.no_grad = true;
         return {};
       }},
      {"--fullgraph", kEngine, nullptr, "compile with fullgraph=True",
       [](Arguments& a, const std::string&) -> Outcome {
         a.open.fullgraph = true;
         return {};
       }},
      {"--seed", kEngine, "N", "seed of the inputs and of torch's generator",
       [](Arguments& a, const std::string& v) {
         return store<long long>(whole_number(v, "--seed"), [&](long long n) { a.open.seed = n; });
       }},
      {"--budget", bit(Command::kCheck), "FILE",
       "the budget: {\"breaks\": 2, \"graphs\": 3, \"given_up\": 0, \"time_ratio\": 1.2, \"known\": [...]}; "
       "what is absent is not limited",
       [](Arguments& a, const std::string& v) -> Outcome {
         a.budget = v;
         return {};
       }},
      {"--update", bit(Command::kCheck), nullptr, "write the budget that holds for what is found now",
       [](Arguments& a, const std::string&) -> Outcome {
         a.update = true;
         return {};
       }},
      {"--markdown", bit(Command::kCheck), "FILE", "also write a summary for people",
       [](Arguments& a, const std::string& v) -> Outcome {
         a.markdown = v;
         return {};
       }},
      {"--sarif", bit(Command::kCheck), "FILE", "also write the breaks as SARIF 2.1.0",
       [](Arguments& a, const std::string& v) -> Outcome {
         a.sarif = v;
         return {};
       }},
      {"--device", bit(Command::kBench), "DEVICE", "cpu, vulkan or all (cpu): whose arms are timed",
       [](Arguments& a, const std::string& v) -> Outcome {
         const auto* row = std::find_if(std::begin(kDeviceArms), std::end(kDeviceArms),
                                        [&](const DeviceArms& one) { return v == one.device; });
         if (row == std::end(kDeviceArms))
           return Error{"--device takes cpu, vulkan or all, not '" + v + "'."};
         a.bench_device = v;
         return {};
       }},
      {"--threads", kTimed | bit(Command::kCheck), "N",
       "PyTorch's thread count for every arm (as PyTorch has it)",
       [](Arguments& a, const std::string& v) {
         if (const auto n = whole_number(v, "--threads"); n && (*n == 0 || *n > 4096))
           return Outcome(Error{"--threads takes 1 to 4096."});
         return store<long long>(whole_number(v, "--threads"),
                                 [&](long long n) { a.time.threads = static_cast<int>(n); });
       }},
      {"--block", kTimed, "MS", "milliseconds of calls that one sample is made of (1)",
       [](Arguments& a, const std::string& v) {
         return store<double>(positive_number(v, "--block"), [&](double ms) { a.time.block_ms = ms; });
       }},
      {"--rounds", kTimed | bit(Command::kCheck), "N",
       "rounds of measurement (by default until every ratio is known within 2 %, at most 300; bench: 0.7 %, "
       "2000)",
       [](Arguments& a, const std::string& v) {
         if (const auto n = whole_number(v, "--rounds"); n && *n == 0)
           return Outcome(Error{"--rounds takes 1 or more."});
         return store<long long>(whole_number(v, "--rounds"),
                                 [&](long long n) { a.time.rounds = static_cast<int>(n); });
       }},
      {"--budget", kTimed, "SECONDS", "no new round starts after this long (10; bench: 30)",
       [](Arguments& a, const std::string& v) {
         return store<double>(positive_number(v, "--budget"), [&](double s) { a.time.budget_s = s; });
       }},
      {"--arm", kTimed, "ARM",
       "cpu, vulkan_eager, vulkan, inference, inductor or eager_peer (repeatable; time: the first three by "
       "default)",
       [](Arguments& a, const std::string& v) -> Outcome {
         if (std::none_of(std::begin(kArms), std::end(kArms), [&](const char* arm) { return v == arm; }))
           return Error{"There is no arm '" + v +
                        "': --arm takes cpu, vulkan_eager, vulkan, inference, inductor or eager_peer."};
         if (!a.time.arms) a.time.arms.emplace();
         a.time.arms->push_back(v);
         return {};
       }},
      {"--output", bit(Command::kTraceExport), "FILE", "the file to write (-o)", set_output},
      {"-o", bit(Command::kTraceExport), "FILE", "the same", set_output},
      {"--calls", bit(Command::kTraceExport), "N", "calls to record, at most 2 s of them (20)",
       [](Arguments& a, const std::string& v) {
         if (const auto n = whole_number(v, "--calls"); n && (*n == 0 || *n > 100000))
           return Outcome(Error{"--calls takes 1 to 100000."});
         return store<long long>(whole_number(v, "--calls"),
                                 [&](long long n) { a.calls = static_cast<int>(n); });
       }},
      {"--stage", bit(Command::kDump), "STAGE",
       "bytecode, graph, passes, schedule, kernel-ir, llvm, asm (of the cpu plan), glsl or spirv (with "
       "--device "
       "vulkan)",
       [](Arguments& a, const std::string& v) -> Outcome {
         if (std::none_of(std::begin(kStages), std::end(kStages),
                          [&](const char* stage) { return v == stage; }))
           return Error{
               "There is no stage '" + v +
               "': --stage takes bytecode, graph, passes, schedule, kernel-ir, llvm, asm, glsl or spirv."};
         a.stage = v;
         return {};
       }},
      {"--without", kTimed, "[FILE:]LINE",
       "also time the compiled program without the break there: graph_break(), print, logging or a warning",
       [](Arguments& a, const std::string& v) -> Outcome {
         if (v.find_last_of("0123456789") != v.size() - 1 || v.empty())
           return Error{"--without takes the line of a break, as in --without model.py:12, not '" + v + "'."};
         a.time.without = v;
         return {};
       }},
      {"--target", kTimed | bit(Command::kDump) | bit(Command::kTraceExport), "NAME",
       "which of a script's targets (dump: all; else the first)",
       [](Arguments& a, const std::string& v) -> Outcome {
         a.time.target = v;
         return {};
       }},
      {"--zh", bit(Command::kDiagnose), nullptr, "answer in Simplified Chinese",
       [](Arguments& a, const std::string&) -> Outcome {
         a.chinese = true;
         return {};
       }},
      {"--timeout", kEngine, "SECONDS", "stop the engine when the whole command takes longer",
       [](Arguments& a, const std::string& v) {
         return store<double>(positive_number(v, "--timeout"), [&](double s) { a.timeout_s = s; });
       }},
      {"--python", kEngine | bit(Command::kRun) | bit(Command::kPython), "PATH",
       "the interpreter (else BREAKLINE_PYTHON, else the one chosen at set-up)",
       [](Arguments& a, const std::string& v) -> Outcome {
         if (v.empty()) return Error{"--python takes the path of an interpreter."};
         a.python = v;
         return {};
       }},
  };
  return table;
}

/// Applies the option at words[at] and moves `at` past it. False: not an option of this command.
Result<bool> take_option(const std::vector<std::string>& words, std::size_t& at, Arguments& out) {
  const std::string& word = words[at];
  const auto equals = word.find('=');
  const std::string name = word.substr(0, equals);
  for (const Option& option : options()) {
    if (name != option.name || !(option.commands & bit(out.command))) continue;
    std::string value;
    ++at;
    if (!option.value) {
      if (equals != std::string::npos) return Error{name + " takes no value."};
    } else if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else {
      if (at >= words.size()) return Error{name + " needs a value: " + name + " " + option.value + "."};
      value = words[at++];
    }
    if (auto error = option.apply(out, value)) return *error;
    return true;
  }
  return false;
}

std::string name_of(Command command) {
  for (const CommandRow& row : kCommands)
    if (row.command == command) return row.name;
  return "";
}

/// run and python: our options stand before the first word of the user's; everything after belongs to that.
Result<Arguments> parse_passing(const std::vector<std::string>& words, std::size_t at, Arguments out) {
  while (at < words.size() && words[at].rfind("--python", 0) == 0 &&
         (words[at] == "--python" || words[at][8] == '=')) {
    const auto taken = take_option(words, at, out);
    if (!taken) return taken.error();
  }
  if (at < words.size() && out.command == Command::kRun && (words[at] == "--help" || words[at] == "-h")) {
    out.command = Command::kHelp;
    out.help_topic = "run";
    return out;
  }
  if (at < words.size() && words[at] == "--" && out.command == Command::kRun) ++at;
  out.rest.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  if (out.command == Command::kRun && out.rest.empty())
    return Error{"Name the script to run, as in breakline run train.py --epochs 3."};
  if (out.command == Command::kRun && out.rest[0] == "-m") {
    if (out.rest.size() < 2) return Error{"-m needs the name of a module: breakline run -m package.train."};
    return out;
  }
  if (out.command == Command::kRun && out.rest[0][0] == '-')
    return Error{"breakline run has no option " + out.rest[0] +
                 "; the script's own options stand after its name."};
  return out;
}

}  // namespace

Result<Arguments> parse_arguments(const std::vector<std::string>& words) {
  Arguments out;
  std::size_t at = 0;
  out.command = Command::kPython;  // --python may stand in front of any command
  while (at < words.size() && words[at].rfind("--python", 0) == 0) {
    const auto taken = take_option(words, at, out);
    if (!taken) return taken.error();
    if (!*taken) break;
  }
  out.command = Command::kHelp;
  if (at >= words.size())
    return Error{
        "Name a command: explain, time, bench, parity, check, dump, trace-export, run, python or diagnose "
        "(breakline "
        "--help "
        "tells "
        "more)."};
  const std::string& first = words[at];
  if (first == "--help" || first == "-h" || first == "help") {
    out.help_topic = at + 1 < words.size() ? words[at + 1] : "";
    return out;
  }
  if (first == "--version" || first == "-V") {
    out.command = Command::kVersion;
    return out;
  }
  const CommandRow* row = find_command(first);
  if (!row)
    return Error{"There is no command '" + first +
                 "': use explain, time, bench, parity, check, dump, trace-export, run, python or diagnose."};
  out.command = row->command;
  ++at;
  if (out.command == Command::kRun || out.command == Command::kPython)
    return parse_passing(words, at, std::move(out));

  if (out.command == Command::kBench) out.time.full = true, out.time.budget_s = 30;
  std::optional<std::string> subject;
  while (at < words.size()) {
    const std::string& word = words[at];
    if (word == "--help" || word == "-h") {
      out.command = Command::kHelp;
      out.help_topic = row->name;
      return out;
    }
    if (word == "--" && (bit(out.command) & kEngine)) {
      out.open.argv.assign(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
      break;
    }
    if (word == "-m" && !subject && (bit(out.command) & kEngine)) {
      if (at + 1 >= words.size())
        return Error{"-m needs the name of a module: breakline " + name_of(out.command) +
                     " -m package.train."};
      subject = "-m " + words[at + 1];
      at += 2;
      continue;
    }
    if (word.size() > 1 && word[0] == '-') {
      const auto taken = take_option(words, at, out);
      if (!taken) return taken.error();
      if (!*taken)
        return Error{"breakline " + name_of(out.command) + " has no option " +
                     word.substr(0, word.find('=')) + " (breakline " + name_of(out.command) +
                     " --help lists them)."};
      continue;
    }
    if (subject)
      return Error{
          "'" + word + "' is one too many: breakline " + name_of(out.command) + " takes one " +
          (out.command == Command::kDiagnose ? "file" : "target; the script's own arguments stand after --") +
          "."};
    subject = word;
    ++at;
  }
  if (!subject)
    return Error{
        out.command == Command::kDiagnose
            ? "Name the file to diagnose, or - for the standard input."
            : "Name a target: a Python file, -m MODULE, or FILE_OR_MODULE:EXPR as in model.py:Net(128)."};
  if (out.command == Command::kCheck && out.budget.empty())
    return Error{"breakline check needs --budget FILE (with --update it is written)."};
  if (out.command == Command::kTraceExport && out.output.empty())
    return Error{"breakline trace-export needs -o FILE, as in -o trace.json."};
  if (out.command == Command::kDump && out.stage.empty())
    return Error{
        "breakline dump needs --stage bytecode, graph, passes, schedule, kernel-ir, llvm, asm, glsl or "
        "spirv."};
  if (out.command == Command::kBench && !out.time.arms)
    for (const DeviceArms& row : kDeviceArms)
      if (out.bench_device == row.device) out.time.arms = row.arms;
  out.file = *subject;
  out.open.target = *subject;
  return out;
}

std::string help_text(const std::string& topic) {
  std::ostringstream out;
  const CommandRow* row = find_command(topic);
  if (!row) {
    out << "Breakline: a compiler for PyTorch code that shows every graph break.\n\n";
    for (const CommandRow& one : kCommands) out << "  " << one.usage << "\n      " << one.summary << "\n";
    out << "  breakline --version | --help | COMMAND --help\n\n"
           "TARGET is a Python file, run as a script (every torch.compile'd callable that it calls is a "
           "target),\n"
           "-m MODULE, run as python -m does, or FILE_OR_MODULE:EXPR, where EXPR is a name or a call with "
           "literal\n"
           "arguments: model.py:Net(128, heads=4).\n\n"
           "Exit status: 0 done; 1 a gate failed (--strict, parity, check) or diagnose found nothing; 2 "
           "usage "
           "or bad\n"
           "input; 3 the code raised or compilation failed; 4 the engine died or timed out.\n";
    return out.str();
  }
  out << row->usage << "\n  " << row->summary << "\n\n";
  for (const Option& option : options()) {
    if (!(option.commands & bit(row->command))) continue;
    std::string name = option.name;
    if (option.value) name += std::string(" ") + option.value;
    name.resize(std::max<std::size_t>(name.size(), 24), ' ');
    out << "  " << name << " " << option.help << "\n";
  }
  return out.str();
}

}  // namespace breakline::cli
