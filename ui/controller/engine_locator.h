// SPDX-License-Identifier: GPL-3.0-or-later
// Finds the interpreter and the Python package for the engine.
#pragma once
#include <QString>

#include "ui/controller/engine_link.h"

namespace breakline::ui {

/// Order: `explicit_python`, BREAKLINE_PYTHON, "python" in <bin>/../breakline.json, python3 on PATH.
/// The package is <bin>/../python or <bin>/../lib/breakline/python, whichever exists.
EngineCommand locate_engine(const QString& explicit_python, const QString& bin_folder);

}  // namespace breakline::ui
