// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/client/locate.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "core/protocol/settings.h"

namespace fs = std::filesystem;

namespace breakline::client {
namespace {

/// The absolute path of a program, looked up on PATH when it has no slash.
std::optional<std::string> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    std::error_code ignored;
    const bool usable = access(name.c_str(), X_OK) == 0 && fs::is_regular_file(name, ignored);
    return usable ? std::optional(fs::absolute(name).string()) : std::nullopt;
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate)) return candidate;
  }
  return std::nullopt;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::string program_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? "." : self.parent_path().string();
}

Result<Interpreter> locate_interpreter(const std::string& explicit_python, const std::string& bin_folder) {
  Interpreter found;
  std::string origin = "--python";
  std::string wanted = explicit_python;
  if (wanted.empty()) {
    const char* variable = std::getenv("BREAKLINE_PYTHON");
    wanted = variable ? variable : "";
    origin = "BREAKLINE_PYTHON";
  }
  if (wanted.empty()) {
    wanted = protocol::chosen_python(read_file(fs::path(bin_folder) / "../breakline.json"));
    origin = "breakline.json";
  }
  if (wanted.empty()) {
    wanted = "python3";
    origin = "PATH";
  }
  const auto program = find_program(wanted);
  if (!program)
    return Error{"There is no interpreter '" + wanted + "' (from " + origin +
                 "): name one with --python PATH, or run ./packaging/start.sh."};
  found.python = *program;
  for (const char* place : {"../python", "../lib/breakline/python"}) {
    const fs::path folder = fs::path(bin_folder) / place;
    if (fs::is_directory(folder / "breakline")) {
      found.package_folder = fs::weakly_canonical(folder).string();
      return found;
    }
  }
  return Error{"The Python package of Breakline is not beside this program (" + bin_folder +
               "/../python): build or install it with ./packaging/start.sh."};
}

std::string python_path_with(const std::string& folder) {
  const char* before = std::getenv("PYTHONPATH");
  return before && *before ? folder + ":" + before : folder;
}

}  // namespace breakline::client
