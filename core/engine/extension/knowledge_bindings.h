// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/python/ref.h"

namespace breakline::engine {

/// Adds `diagnose_json(text, reason=None) -> str` to the extension module: the matching records of the
/// built-in knowledge base as `[{"record", "score", "why"}]`. 0, or -1 with a Python error set. GIL held.
int add_knowledge_functions(PyObject* module);

}  // namespace breakline::engine
