// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/client/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace breakline::client {
namespace {

void close_fd(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

}  // namespace

Result<std::unique_ptr<Process>> Process::start(const Command& command) {
  int in[2], out[2], err[2], failed[2];
  if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) || pipe2(failed, O_CLOEXEC))
    return Error{std::string("No pipe can be made: ") + std::strerror(errno) + "."};
  signal(SIGPIPE, SIG_IGN);  // a dead engine is seen as a failed write

  // everything that allocates happens before the fork
  std::vector<char*> arguments;
  for (const std::string& argument : command.arguments)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::vector<std::string> texts;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text(*entry);
    bool replaced = false;
    for (const auto& [name, value] : command.environment)
      replaced |= text.substr(0, name.size() + 1) == name + "=";
    if (!replaced) texts.emplace_back(text);
  }
  for (const auto& [name, value] : command.environment) texts.push_back(name + "=" + value);
  std::vector<char*> variables;
  for (std::string& text : texts) variables.push_back(text.data());
  variables.push_back(nullptr);

  const pid_t pid = fork();
  if (pid < 0) return Error{std::string("No process can be started: ") + std::strerror(errno) + "."};
  if (pid == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    dup2(err[1], 2);
    signal(SIGPIPE, SIG_DFL);
    execve(arguments[0], arguments.data(), variables.data());
    const int why = errno;
    [[maybe_unused]] const auto sent = ::write(failed[1], &why, sizeof why);
    _exit(127);
  }
  for (int fd : {in[0], out[1], err[1], failed[1]}) close(fd);
  int why = 0;
  const bool refused = ::read(failed[0], &why, sizeof why) == sizeof why;
  close(failed[0]);
  auto process = std::unique_ptr<Process>(new Process);
  process->pid_ = pid;
  process->input_ = in[1];
  process->output_ = out[0];
  process->error_ = err[0];
  if (refused) return Error{command.arguments[0] + " can't be started: " + std::strerror(why) + "."};
  return process;
}

Process::~Process() {
  kill();
  wait();
}

bool Process::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::write(input_, bytes.data(), bytes.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

Process::Piece Process::read(std::optional<std::chrono::steady_clock::time_point> deadline) {
  while (!ended()) {
    int wait_ms = -1;
    if (deadline) {
      const auto left = *deadline - std::chrono::steady_clock::now();
      const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
      if (ms <= 0) return {};
      wait_ms = static_cast<int>(std::min<long long>(ms, 1 << 30));
    }
    pollfd watched[2] = {{output_, POLLIN, 0}, {error_, POLLIN, 0}};  // poll skips a negative descriptor
    const int ready = poll(watched, 2, wait_ms);
    if (ready < 0 && errno != EINTR) return {};
    if (ready <= 0) continue;
    for (int n = 0; n < 2; ++n) {
      if (!watched[n].revents) continue;
      int& fd = n == 0 ? output_ : error_;
      std::string bytes(65536, '\0');
      const ssize_t got = ::read(fd, bytes.data(), bytes.size());
      if (got < 0 && errno == EINTR) continue;
      bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
      if (got <= 0) close_fd(fd);
      return {n == 0 ? Stream::kOutput : Stream::kError, std::move(bytes)};
    }
  }
  return {};
}

void Process::kill() {
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

std::string Process::wait() {
  close_all();
  if (pid_ <= 0) return "has ended";
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return "was ended by signal " + std::to_string(number) + " (" + strsignal(number) + ")";
  }
  return "ended with exit status " + std::to_string(WEXITSTATUS(status));
}

void Process::close_all() {
  close_fd(input_);
  close_fd(output_);
  close_fd(error_);
}

}  // namespace breakline::client
