// SPDX-License-Identifier: GPL-3.0-or-later
// What only CPython 3.12 has.
#include "core/bytecode/rules.h"

#if BREAKLINE_OPCODES == 0x030C

namespace breakline::bytecode {
namespace {

using namespace rules;

void compare(Emitter& e) { e.emit(Op::kCompareOp, e.arg >> 4); }

// The iterator is gone when the loop ends, so the jump passes over END_FOR.
void for_iter(Emitter& e) { e.emit_jump(Op::kForIter, e.after + 2 * (e.arg + 1)); }

void end_for(Emitter& e) {
  e.emit(Op::kPopTop);
  e.emit(Op::kPopTop);
}

}  // namespace

const std::vector<RuleRow>& version_rows() {
  static const std::vector<RuleRow> rows = {
      {COMPARE_OP, compare},
      {END_FOR, end_for},
      {FOR_ITER, for_iter},
      {RETURN_CONST, return_const},
  };
  return rows;
}

}  // namespace breakline::bytecode
#endif
