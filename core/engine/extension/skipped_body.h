// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace breakline::engine {

/// Lets the machine run the body of a `disable(recursive=False)` callee as plain Python while the user's functions that it
/// calls are compiled as roots of their own, under the region flag in force there.
void install_skipped_body();

}  // namespace breakline::engine
