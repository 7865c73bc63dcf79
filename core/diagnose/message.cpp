// SPDX-License-Identifier: GPL-3.0-or-later
// The text of a break in PyTorch 2.13's layout: labels, indents and blank lines are interface, tests compare
// them.
#include "core/diagnose/reasons.h"

namespace breakline::diagnose {
namespace {

// Continuation lines get four spaces; lines of blanks only stay as they are (as textwrap.indent does).
std::string indent_continuation(std::string_view text) {
  std::string out;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const bool blank = line.find_first_not_of(" \t\r") == std::string_view::npos;
    if (!first && !blank) out += "    ";
    out += line;
    first = false;
    if (end == std::string_view::npos) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string_view strip_last_newline(std::string_view text) {
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  return text;
}

constexpr std::string_view kMoreDetail =
    "Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace (please do this especially if you're reporting a "
    "bug "
    "to PyTorch). For even more developer context, set TORCH_LOGS=\"+dynamo\"\n";

}  // namespace

std::string format_reason_body(const Rendered& reason, std::string_view higher_order_op) {
  std::string text = reason.type + "\n";
  if (!higher_order_op.empty()) {
    text += "  Higher Order Operator: ";
    text += higher_order_op;
    text += '\n';
  }
  text += "  Explanation: " + indent_continuation(reason.explanation) + "\n";
  for (const std::string& hint : reason.hints) text += "  Hint: " + indent_continuation(hint) + "\n";
  if (reason.hints.empty()) text += '\n';
  text += "\n  Developer debug context: " + indent_continuation(reason.context) + "\n";
  if (!reason.url.empty())
    text += "\n For more details about this graph break, please visit: " + reason.url + "\n";
  return text;
}

std::string format_unsupported_message(const Rendered& reason, const MessageParts& parts) {
  std::string text = format_reason_body(reason, parts.higher_order_op);
  if (!parts.user_stack.empty()) {
    text += "\nfrom user code:\n ";
    text += strip_last_newline(parts.user_stack);
    text += '\n';
  }
  if (!parts.verbose) {
    text += '\n';
    text += kMoreDetail;
  }
  return text;
}

std::string join_chained_bodies(std::string_view first, std::string_view second) {
  std::string text(strip_last_newline(first));
  text += "\n\n*** While handling this graph break, another graph break occurred: ***\n\n";
  text += second;
  return text;
}

}  // namespace breakline::diagnose
