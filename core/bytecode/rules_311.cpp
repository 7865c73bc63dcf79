// SPDX-License-Identifier: GPL-3.0-or-later
// What only CPython 3.11 has.
#include "core/bytecode/rules.h"

#if BREAKLINE_OPCODES == 0x030B

namespace breakline::bytecode {

using namespace rules;

const std::vector<RuleRow>& version_rows() {
  static const std::vector<RuleRow> rows = {
      {ASYNC_GEN_WRAP, plain<Op::kAsyncGenWrap>},
      {COMPARE_OP, with_arg<Op::kCompareOp>},
      {FOR_ITER, forward<Op::kForIter>},
      {IMPORT_STAR, plain<Op::kImportStar>},
      {JUMP_IF_FALSE_OR_POP, forward<Op::kJumpIfFalseOrPop>},
      {JUMP_IF_TRUE_OR_POP, forward<Op::kJumpIfTrueOrPop>},
      {LIST_TO_TUPLE, plain<Op::kListToTuple>},
      {LOAD_ATTR, with_name<Op::kLoadAttr>},
      {LOAD_CLASSDEREF, with_arg<Op::kLoadClassDeref>},
      {LOAD_METHOD, with_name<Op::kLoadMethod>},
      {POP_JUMP_BACKWARD_IF_FALSE, backward<Op::kPopJumpIfFalse>},
      {POP_JUMP_BACKWARD_IF_NONE, backward<Op::kPopJumpIfNone>},
      {POP_JUMP_BACKWARD_IF_NOT_NONE, backward<Op::kPopJumpIfNotNone>},
      {POP_JUMP_BACKWARD_IF_TRUE, backward<Op::kPopJumpIfTrue>},
      {POP_JUMP_FORWARD_IF_FALSE, forward<Op::kPopJumpIfFalse>},
      {POP_JUMP_FORWARD_IF_NONE, forward<Op::kPopJumpIfNone>},
      {POP_JUMP_FORWARD_IF_NOT_NONE, forward<Op::kPopJumpIfNotNone>},
      {POP_JUMP_FORWARD_IF_TRUE, forward<Op::kPopJumpIfTrue>},
      {PRECALL, drop},
      {PREP_RERAISE_STAR, plain<Op::kPrepReraiseStar>},
      {PRINT_EXPR, plain<Op::kPrintExpr>},
      {UNARY_POSITIVE, plain<Op::kUnaryPositive>},
  };
  return rows;
}

}  // namespace breakline::bytecode
#endif
