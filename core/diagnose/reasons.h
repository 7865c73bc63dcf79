// SPDX-License-Identifier: GPL-3.0-or-later
// The table of break reasons (resources/reasons/reasons.json, built in) and the text of a break.
// Folders before this one name a reason by its id only, e.g. "data-dependent-branch".
#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace breakline::diagnose {

/// One row of the table. All views and vectors live as long as the process.
struct Reason {
  std::string id;     ///< kebab-case; the same word in tracer, reports and the window
  std::string gb_id;  ///< "GB0025": the kind's id in PyTorch's registry; empty where PyTorch has no such kind
  std::string
      group;  ///< "user", "data", "call", "iteration", "context", "object", "torch", "autograd", "limit"
  std::string label;               ///< two to four words for a list, e.g. "branch on tensor data"
  std::string label_zh;            ///< the same in Simplified Chinese
  std::string type;                ///< the headline, PyTorch's own words where the kind is the same
  std::string explanation;         ///< template
  std::vector<std::string> hints;  ///< templates
  std::string context;             ///< template of the developer debug context
  std::string knowledge;           ///< id of the record in resources/knowledge
  std::string url;                 ///< page about this kind; empty without gb_id
};

using Argument = std::pair<std::string_view, std::string_view>;

/// A reason with its templates filled in.
struct Rendered {
  std::string type;
  std::string explanation;
  std::vector<std::string> hints;
  std::string context;
  std::string url;
};

/// The row with this id, or nullptr. Thread-safe; the table is parsed once, on first use.
const Reason* find_reason(std::string_view id);

/// The first row with this type text (the headline of a message), or nullptr.
const Reason* find_reason_by_type(std::string_view type);

/// All rows in the order of the file.
std::span<const Reason> all_reasons();

/// Fills `{name}` and `{name|default}` in a template: the argument's value, else the default, else an
/// ellipsis. Braces that do not enclose a name stay as they are.
std::string fill_template(std::string_view text, std::span<const Argument> arguments);

/// Type, explanation, hints, context and url of a break.
Rendered render(const Reason& reason, std::span<const Argument> arguments);
Rendered render(const Reason& reason, std::initializer_list<Argument> arguments);

/// What stands in a compile error besides the reason.
struct MessageParts {
  std::string_view higher_order_op;  ///< name, only when the break is inside one's body
  /// Frames outermost first, as `traceback.format_list` joins them: two spaces of indent before "File".
  /// Empty: no "from user code" part.
  std::string_view user_stack;
  bool verbose = false;  ///< true leaves out the last line, which tells how to get more detail
};

/// The body alone (headline, Explanation, Hint, Developer debug context, link), each line ended by a newline.
std::string format_reason_body(const Rendered& reason, std::string_view higher_order_op = {});

/// The whole text of `torch._dynamo.exc.Unsupported` in PyTorch 2.13's layout.
std::string format_unsupported_message(const Rendered& reason, const MessageParts& parts);

/// Two bodies of which the first made the second necessary, joined as PyTorch joins them.
std::string join_chained_bodies(std::string_view first, std::string_view second);

}  // namespace breakline::diagnose
