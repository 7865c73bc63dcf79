// SPDX-License-Identifier: GPL-3.0-or-later
// Finds the interpreter and the Python package that belong to a program of ours.
#pragma once
#include <string>

#include "core/base/result.h"

namespace breakline::client {

/// How to start the chosen interpreter with the package importable.
struct Interpreter {
  std::string python;          ///< program, as given or absolute
  std::string package_folder;  ///< to put in front of PYTHONPATH
};

/// The folder of the running program.
std::string program_folder();

/// Order: `explicit_python`, BREAKLINE_PYTHON, "python" in <bin>/../breakline.json, python3 on PATH. The
/// package is in <bin>/../python or <bin>/../lib/breakline/python. Fails with one sentence when the
/// interpreter is no program or the package is not there.
Result<Interpreter> locate_interpreter(const std::string& explicit_python, const std::string& bin_folder);

/// PYTHONPATH with `folder` in front of what the environment has.
std::string python_path_with(const std::string& folder);

}  // namespace breakline::client
