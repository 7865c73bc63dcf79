// SPDX-License-Identifier: GPL-3.0-or-later
// The load of a Linux machine, from /proc.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/measure/load.h"

namespace breakline::measure {
namespace {

/// The first bytes of a file; empty when it can't be read.
std::string head_of(const std::string& path) {
  std::array<char, 1024> buffer;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t count = read(fd, buffer.data(), buffer.size());
  close(fd);
  return count > 0 ? std::string(buffer.data(), static_cast<std::size_t>(count)) : std::string();
}

/// Field `index` (from 0) of space-separated numbers; 0 when there is none.
std::int64_t number_at(std::string_view text, int index) {
  std::size_t at = 0;
  for (;;) {
    at = text.find_first_not_of(" \n", at);
    if (at == std::string_view::npos) return 0;
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    if (index-- == 0) {
      std::int64_t value = 0;
      std::from_chars(text.data() + at, text.data() + end, value);
      return value;
    }
    at = end;
  }
}

/// Ticks in user and kernel mode of a process and of its children that have ended.
std::int64_t ticks_of(const std::string& stat) {
  const std::size_t name_end = stat.rfind(')');  // the name may hold spaces
  if (name_end == std::string::npos) return 0;
  const std::string_view rest = std::string_view(stat).substr(name_end + 1);
  return number_at(rest, 11) + number_at(rest, 12) + number_at(rest, 13) + number_at(rest, 14);
}

int parent_of(const std::string& stat) {
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos
             ? -1
             : static_cast<int>(number_at(std::string_view(stat).substr(name_end + 1), 1));
}

/// This process and everything below it.
std::vector<int> own_tree() {
  std::vector<std::pair<int, int>> parents;
  if (DIR* folder = opendir("/proc")) {
    while (const dirent* entry = readdir(folder)) {
      int pid = 0;
      const char* end = entry->d_name + std::strlen(entry->d_name);
      if (std::from_chars(entry->d_name, end, pid).ptr != end || pid <= 0) continue;
      parents.emplace_back(pid, parent_of(head_of("/proc/" + std::to_string(pid) + "/stat")));
    }
    closedir(folder);
  }
  std::vector<int> tree = {getpid()};
  for (std::size_t i = 0; i < tree.size(); ++i)
    for (const auto& [pid, parent] : parents)
      if (parent == tree[i]) tree.push_back(pid);
  return tree;
}

class ProcLoadReader final : public LoadReader {
 public:
  ProcLoadReader() : tick_ns_(1'000'000'000 / std::max(1L, sysconf(_SC_CLK_TCK))) {
    for (const int pid : own_tree()) paths_.push_back("/proc/" + std::to_string(pid) + "/stat");
  }

  LoadReading read() override {
    LoadReading reading;
    const std::string machine = head_of("/proc/stat");
    const std::string_view cpu = std::string_view(machine).substr(0, machine.find('\n'));
    // cpu user nice system idle iowait irq softirq steal: all but idle and iowait
    std::int64_t busy = 0;
    for (const int field : {1, 2, 3, 6, 7, 8}) busy += number_at(cpu, field);
    for (const std::string& path : paths_) busy -= ticks_of(head_of(path));
    reading.others_ns = busy * tick_ns_;
    reading.at_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                        std::chrono::steady_clock::now().time_since_epoch())
                        .count();
    return reading;
  }

  std::int64_t waiting_ns() override { return number_at(head_of("/proc/thread-self/schedstat"), 1); }

  std::int64_t resolution_ns() const override { return tick_ns_; }

 private:
  std::int64_t tick_ns_;
  std::vector<std::string> paths_;
};

}  // namespace

std::unique_ptr<LoadReader> make_proc_load_reader() {
  if (head_of("/proc/stat").rfind("cpu ", 0) != 0 || head_of("/proc/self/stat").empty()) return nullptr;
  return std::make_unique<ProcLoadReader>();
}

}  // namespace breakline::measure
