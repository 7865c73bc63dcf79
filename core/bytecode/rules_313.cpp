// SPDX-License-Identifier: GPL-3.0-or-later
// What only CPython 3.13 has.
#include "core/bytecode/rules.h"

#if BREAKLINE_OPCODES == 0x030D

namespace breakline::bytecode {

using namespace rules;

const std::vector<RuleRow>& version_rows() {
  static const std::vector<RuleRow> rows = {
      {RETURN_CONST, return_const},
  };
  return rows;
}

}  // namespace breakline::bytecode
#endif
