// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/segment/root.h"

namespace breakline::segment {

/// Makes the exception for a break under an error policy: sets the Python error. Set by engine, which knows the texts.
using ErrorRaiser = void (*)(Root& root, const trace::BreakInfo& info, const policy::Resolution& resolution, const std::string& break_id);
void set_error_raiser(ErrorRaiser raiser);

/// Calls the root (vectorcall convention). New reference, or null with the error set; throws py::PythonError. GIL.
PyObject* call_root(Root& root, PyObject* const* args, size_t nargsf, PyObject* names);

/// Why a root is left to CPython on this call, or null.
const char* reason_to_skip(const bytecode::Code* code);

/// Traces the continuation and links a new segment into `site`. Null: a Python error is set (an error policy rejects a
/// break), or none is set and the site should run without tracing.
Segment* build_segment(Root& root, Site& site, const resume::State& state, bool ambient_flag);

/// Takes back a segment that was just made and has not run.
void drop_segment(Root& root, Site& site, const Segment* segment);

/// Sets the error for a break that its policy rejects.
void raise_break(Root& root, const trace::BreakInfo& info, const policy::Resolution& resolution, int index);
/// Whether the policy in force still allows the segment's break; sets the error when it does not.
bool policy_allows(Root& root, Segment& segment, bool ambient_flag);

}  // namespace breakline::segment
