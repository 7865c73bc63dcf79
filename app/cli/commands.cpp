// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/commands.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "core/client/check.h"
#include "core/client/client.h"
#include "core/client/locate.h"
#include "core/client/report_text.h"
#include "core/client/timings_text.h"
#include "core/diagnose/knowledge.h"
#include "core/protocol/json.h"
#include "core/protocol/timeline.h"

namespace breakline::cli {
namespace {

using client::Answer;
using client::Client;

void print(std::FILE* stream, const std::string& text) { std::fwrite(text.data(), 1, text.size(), stream); }

bool wants_colour() { return isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR"); }

client::TextOptions text_options(const Arguments& arguments) {
  client::TextOptions options;
  options.colour = wants_colour();
  options.folder = std::filesystem::current_path().string();
  options.strict = arguments.strict;
  return options;
}

/// The user's output as it comes: its own stream, or stderr when stdout is for what was asked only.
void forward_output(Client& engine, bool json) {
  engine.on_notice([json](const std::string& method, const protocol::Notice& notice) {
    if (method != "output") return;
    std::FILE* stream = json || notice.stream == "stderr" ? stderr : stdout;
    print(stream, notice.text);
    std::fflush(stream);
  });
}

/// Prints what a failed request says; returns the exit code.
int report_failure(const Answer& answer) {
  if (!answer.failure.traceback.empty()) print(stderr, answer.failure.traceback);
  const int code = answer.outcome != client::Outcome::kRefused ? kEngineDied
                   : answer.failure.bad_input()                ? kBadInput
                   : answer.failure.code == 2                  ? kUserCode
                                                               : kEngineDied;
  return complain(answer.failure.message, code);
}

/// An engine that has said hello and opened the target; the report's JSON in `report`. Else the exit code in
/// `code`.
struct Opened {
  std::unique_ptr<Client> engine;
  std::string report;
  int code = kDone;
};

Opened open_target(const Arguments& arguments) {
  Opened out;
  const auto interpreter = client::locate_interpreter(arguments.python, client::program_folder());
  if (!interpreter) {
    out.code = complain(interpreter.error().message, kBadInput);
    return out;
  }
  client::Command command;
  command.arguments = {interpreter->python, "-m", "breakline.engine"};
  command.environment = {{"PYTHONPATH", client::python_path_with(interpreter->package_folder)}};
  auto engine = Client::start(command);
  if (!engine) {
    out.code = complain(engine.error().message, kBadInput);
    return out;
  }
  forward_output(**engine, arguments.json || arguments.command == Command::kDump);
  if (arguments.timeout_s) (*engine)->limit(Client::Seconds(*arguments.timeout_s));
  const std::string greeting =
      "{\"protocol\":" + std::to_string(protocol::kProtocolVersion) + ",\"client\":\"breakline\"}";
  Answer answer = (*engine)->call("hello", greeting);
  if (answer.outcome == client::Outcome::kDied &&
      answer.failure.message.find("ended with exit status") != std::string::npos) {
    // it started but can't load the package: too old, or no Python
    print(stderr, answer.failure.traceback);
    out.code = complain(
        interpreter->python +
            " can't start Breakline's engine: name a CPython 3.11 or newer that has PyTorch with --python.",
        kBadInput);
    return out;
  }
  if (answer.outcome != client::Outcome::kAnswered) {
    out.code = report_failure(answer);
    return out;
  }
  const auto hello = protocol::parse_hello(answer.body);
  if (!hello || hello->protocol != protocol::kProtocolVersion) {
    out.code = complain(
        "The engine speaks another version of the protocol: run ./packaging/start.sh to build both alike.",
        kBadInput);
    return out;
  }
  if (!hello->torch_note.empty()) std::fprintf(stderr, "breakline: %s.\n", hello->torch_note.c_str());
  answer = (*engine)->call("open", protocol::to_json(arguments.open));
  if (answer.outcome != client::Outcome::kAnswered) {
    out.code = report_failure(answer);
    return out;
  }
  out.engine = std::move(*engine);
  out.report = answer.body;
  return out;
}

bool any_error(const protocol::Report& report) {
  for (const protocol::Target& target : report.targets)
    if (target.error) return true;
  return false;
}

/// The same for commands that need a target which ran to its end: `what` they do with it. No engine: the exit
/// code.
Opened open_and_run(const Arguments& arguments, const char* what, protocol::Report& report) {
  Opened opened = open_target(arguments);
  if (!opened.engine) return opened;
  auto parsed = protocol::parse_report(opened.report);
  if (!parsed) {
    opened.code = complain(parsed.error().message, kEngineDied);
    opened.engine.reset();
    return opened;
  }
  report = std::move(*parsed);
  if (any_error(report)) {
    print(stderr, client::report_text(report, text_options(arguments)));
    opened.code = complain(std::string("The target raised, so there is nothing to ") + what + ".", kUserCode);
    opened.engine.reset();
  }
  return opened;
}

int explain(const Arguments& arguments) {
  Opened opened = open_target(arguments);
  if (!opened.engine) return opened.code;
  opened.engine->shut_down();
  const auto report = protocol::parse_report(opened.report);
  if (!report) return complain(report.error().message, kEngineDied);
  print(stdout, arguments.json ? protocol::pretty(opened.report) + "\n"
                               : client::report_text(*report, text_options(arguments)));
  if (any_error(*report)) return kUserCode;
  return arguments.strict && !report->breaks.empty() ? kGateFailed : kDone;
}

int time(const Arguments& arguments) {
  protocol::Report report;
  const Opened opened = open_and_run(arguments, "time", report);
  if (!opened.engine) return opened.code;
  const Answer answer = opened.engine->call("time", protocol::to_json(arguments.time));
  if (answer.outcome != client::Outcome::kAnswered) return report_failure(answer);
  opened.engine->shut_down();
  const auto timings = protocol::parse_timings(answer.body);
  if (!timings) return complain(timings.error().message, kEngineDied);
  print(stdout, arguments.json ? protocol::pretty(answer.body) + "\n"
                               : client::timings_text(*timings, text_options(arguments)));
  return kDone;
}

int parity(const Arguments& arguments) {
  Opened opened = open_target(arguments);
  if (!opened.engine) return opened.code;
  const Answer answer = opened.engine->call("parity", "{}");
  if (answer.outcome != client::Outcome::kAnswered) return report_failure(answer);
  opened.engine->shut_down();
  const auto result = protocol::parse_parity(answer.body);
  if (!result) return complain(result.error().message, kEngineDied);
  print(stdout, arguments.json ? protocol::pretty(answer.body) + "\n"
                               : client::parity_text(*result, text_options(arguments)));
  if (result->ours.error.empty() != result->theirs.error.empty()) return kGateFailed;
  // An error ends both runs early, and frames that one side never traced have no places to compare.
  if (!result->theirs.error.empty() || result->theirs.given_up) return kDone;
  for (const protocol::ParityPlace& place : result->places)
    if (place.verdict == "only ours") return kGateFailed;
  return kDone;
}

bool write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  return file && (file << text).flush();
}

int check(const Arguments& arguments) {
  std::optional<protocol::Budget> budget;
  std::error_code ignored;
  if (std::ifstream file(arguments.budget, std::ios::binary);
      file && !std::filesystem::is_directory(arguments.budget, ignored)) {
    std::ostringstream text;
    text << file.rdbuf();
    const auto parsed = protocol::parse_budget(text.str());
    if (!parsed)
      return complain("The budget file " + arguments.budget + " is not usable: " + parsed.error().message +
                          "; --update writes one.",
                      kBadInput);
    budget = *parsed;
  } else if (!arguments.update) {
    return complain(
        "The budget file " + arguments.budget + " can't be read: --update writes it from what is found now.",
        kBadInput);
  }
  protocol::Report report;
  const Opened opened = open_and_run(arguments, "check", report);
  if (!opened.engine) return opened.code;
  client::CheckInput input;
  input.report = &report;
  input.device = arguments.open.device;
  input.folder = std::filesystem::absolute(arguments.budget).lexically_normal().parent_path().string();
  if (arguments.update) {
    opened.engine->shut_down();
    if (!write_file(arguments.budget, protocol::to_json(client::budget_of(input, budget))))
      return complain("The budget file " + arguments.budget + " can't be written: check the folder.",
                      kBadInput);
    return kDone;
  }
  std::optional<protocol::Timings> timings;
  if (budget->time_ratio) {
    protocol::TimeParams params = arguments.time;
    params.arms = {{arguments.open.device}};
    const Answer answer = opened.engine->call("time", protocol::to_json(params));
    if (answer.outcome != client::Outcome::kAnswered) return report_failure(answer);
    const auto parsed = protocol::parse_timings(answer.body);
    if (!parsed) return complain(parsed.error().message, kEngineDied);
    timings = *parsed;
    input.timings = &*timings;
  }
  opened.engine->shut_down();
  const protocol::CheckResult result = client::check(input, *budget);
  print(stdout, arguments.json ? protocol::pretty(protocol::to_json(result)) + "\n"
                               : client::check_text(result, arguments.file));
  if (!arguments.markdown.empty() &&
      !write_file(arguments.markdown, client::check_markdown(result, arguments.file)))
    return complain("The summary " + arguments.markdown + " can't be written: check the folder.", kBadInput);
  if (!arguments.sarif.empty() && !write_file(arguments.sarif, client::check_sarif(input, result)))
    return complain("The SARIF file " + arguments.sarif + " can't be written: check the folder.", kBadInput);
  return result.within ? kDone : kGateFailed;
}

int dump(const Arguments& arguments) {
  protocol::Report report;
  const Opened opened = open_and_run(arguments, "dump", report);
  if (!opened.engine) return opened.code;
  const protocol::DumpParams params{arguments.stage, arguments.time.target};
  const Answer answer = opened.engine->call("dump", protocol::to_json(params));
  if (answer.outcome != client::Outcome::kAnswered) return report_failure(answer);
  opened.engine->shut_down();
  const auto parsed = protocol::parse_dump(answer.body);
  if (!parsed) return complain(parsed.error().message, kEngineDied);
  print(stdout, arguments.json ? protocol::pretty(answer.body) + "\n"
                               : client::dump_text(*parsed, text_options(arguments)));
  return kDone;
}

int trace_export(const Arguments& arguments) {
  protocol::Report report;
  const Opened opened = open_and_run(arguments, "record", report);
  if (!opened.engine) return opened.code;
  const protocol::TimelineParams params{arguments.time.target, arguments.calls};
  const Answer answer = opened.engine->call("timeline", protocol::to_json(params));
  if (answer.outcome != client::Outcome::kAnswered) return report_failure(answer);
  opened.engine->shut_down();
  const auto timeline = protocol::parse_timeline(answer.body);
  const auto trace = protocol::trace_of(answer.body);
  if (!timeline || !trace)
    return complain((timeline ? trace.error() : timeline.error()).message, kEngineDied);
  if (!write_file(arguments.output, *trace))
    return complain("The timeline " + arguments.output + " can't be written: check the folder.", kBadInput);
  print(stdout, arguments.json ? protocol::to_json(*timeline) + "\n" : client::timeline_text(*timeline));
  return kDone;
}

/// Replaces this process by the interpreter with `words` as its arguments.
int become_python(const Arguments& arguments, const std::vector<std::string>& words) {
  const auto interpreter = client::locate_interpreter(arguments.python, client::program_folder());
  if (!interpreter) return complain(interpreter.error().message, kBadInput);
  setenv("PYTHONPATH", client::python_path_with(interpreter->package_folder).c_str(), 1);
  std::vector<char*> list = {const_cast<char*>(interpreter->python.c_str())};
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  execv(list[0], list.data());
  return complain(interpreter->python + " can't be started: " + std::strerror(errno) + ".", kBadInput);
}

int run(const Arguments& arguments) {
  std::vector<std::string> words = {"-m", "breakline.run"};
  words.insert(words.end(), arguments.rest.begin(), arguments.rest.end());
  return become_python(arguments, words);
}

int python(const Arguments& arguments) { return become_python(arguments, arguments.rest); }

int diagnose(const Arguments& arguments) {
  std::ostringstream text;
  if (arguments.file == "-") {
    text << std::cin.rdbuf();
  } else {
    std::error_code ignored;
    std::ifstream file(arguments.file, std::ios::binary);
    if (!file || std::filesystem::is_directory(arguments.file, ignored))
      return complain(
          arguments.file + " can't be read: name a file with the error or log, or - for the standard input.",
          kBadInput);
    text << file.rdbuf();
  }
  if (text.str().find_first_not_of(" \t\r\n") == std::string::npos)
    return complain("The text to diagnose is empty: paste the error, the log or the traceback.", kBadInput);
  const auto matches = diagnose::KnowledgeBase::builtin().diagnose(text.str());
  const auto language = arguments.chinese ? diagnose::Language::Chinese : diagnose::Language::English;
  if (arguments.json) print(stdout, protocol::pretty(diagnose::matches_to_json(matches)) + "\n");
  if (matches.empty()) {
    std::string sentence = diagnose::render_matches(matches, language);
    sentence.erase(sentence.find_last_not_of('\n') + 1);
    return complain(sentence, kGateFailed);
  }
  if (!arguments.json) print(stdout, diagnose::render_matches(matches, language));
  return kDone;
}

int help(const Arguments& arguments) {
  print(stdout, help_text(arguments.help_topic));
  return kDone;
}

int version(const Arguments&) {
  std::printf("breakline %s (protocol %d, report schema %d)\n", BREAKLINE_VERSION, protocol::kProtocolVersion,
              protocol::kReportSchema);
  return kDone;
}

}  // namespace

int complain(const std::string& sentence, int code) {
  std::fflush(stdout);
  std::fprintf(stderr, "breakline: %s\n", sentence.c_str());
  return code;
}

int run_command(const Arguments& arguments) {
  switch (arguments.command) {
    case Command::kHelp:
      return help(arguments);
    case Command::kVersion:
      return version(arguments);
    case Command::kExplain:
      return explain(arguments);
    case Command::kRun:
      return run(arguments);
    case Command::kPython:
      return python(arguments);
    case Command::kDiagnose:
      return diagnose(arguments);
    case Command::kTime:
    case Command::kBench:
      return time(arguments);
    case Command::kParity:
      return parity(arguments);
    case Command::kCheck:
      return check(arguments);
    case Command::kTraceExport:
      return trace_export(arguments);
    case Command::kDump:
      return dump(arguments);
  }
  return kBadInput;
}

}  // namespace breakline::cli
