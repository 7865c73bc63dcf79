// SPDX-License-Identifier: GPL-3.0-or-later
// The small settings file that the set-up script writes beside the programs (breakline.json).
#pragma once
#include <string>
#include <string_view>

namespace breakline::protocol {

/// The interpreter that breakline.json names; empty when the text is no such file.
std::string chosen_python(std::string_view json);

}  // namespace breakline::protocol
