// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/python/ref.h"

namespace breakline::engine {

/// Names the plan makers by device; the only place that knows them all.
void register_plans();
/// [{id, name, available, reason}] of the devices plans can run on.
PyObject* devices(PyObject*, PyObject*);

}  // namespace breakline::engine
