// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bytecode/print.h"

#include <algorithm>
#include <set>

namespace breakline::bytecode {
namespace {

std::string padded(std::string text, size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}
std::string right(const std::string& text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

/// A constant as repr, cut short; code objects by their name, since their repr holds an address.
std::string constant_text(PyObject* object) {
  constexpr size_t kMost = 60;
  if (PyCode_Check(object)) {
    const char* name = PyUnicode_AsUTF8(reinterpret_cast<PyCodeObject*>(object)->co_name);
    return std::string("<code ") + (name ? name : "?") + ">";
  }
  const py::Ref repr = py::Ref::steal(PyObject_Repr(object));
  const char* text = repr ? PyUnicode_AsUTF8(repr.get()) : nullptr;
  if (!text) PyErr_Clear();
  std::string result = text ? text : "?";
  if (result.size() <= kMost) return result;
  size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(result[end]) & 0xc0) == 0x80) --end;  // whole characters
  return result.substr(0, end) + "...";
}

bool names_slot(Op op) {
  switch (op) {
    case Op::kLoadFast:
    case Op::kLoadFastOrNull:
    case Op::kClearFast:
    case Op::kStoreFast:
    case Op::kDeleteFast:
    case Op::kMakeCell:
    case Op::kLoadClosure:
    case Op::kLoadDeref:
    case Op::kStoreDeref:
    case Op::kDeleteDeref:
    case Op::kLoadClassDeref:
      return true;
    default:
      return false;
  }
}

/// Signs of BinaryOp (CPython's NB_ numbers: 13 operators, then their in-place forms) and CompareOp.
constexpr const char* kBinary[] = {"+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^"};
constexpr const char* kCompare[] = {"<", "<=", "==", "!=", ">", ">="};

std::string operator_text(const Instr& instr) {
  const auto arg = static_cast<size_t>(instr.arg);
  if (instr.op == Op::kCompareOp) {
    return (arg & 0xff) < std::size(kCompare) ? kCompare[arg & 0xff] : "";
  }
  if (arg >= 2 * std::size(kBinary)) return "";
  const bool in_place = arg >= std::size(kBinary);
  return std::string(kBinary[arg % std::size(kBinary)]) + (in_place ? "=" : "");
}

std::string operand_text(const Code& code, const Instr& instr) {
  if (instr.op == Op::kBinaryOp || instr.op == Op::kCompareOp) {
    if (std::string sign = operator_text(instr); !sign.empty()) return sign;
  }
  std::string text;
  if (names_slot(instr.op)) {
    PyObject* name = code.slot_name(instr.arg);
    const char* utf8 = name ? PyUnicode_AsUTF8(name) : nullptr;
    return utf8 ? utf8 : std::to_string(instr.arg);
  }
  if (instr.op != Op::kLoadConst && instr.arg != 0) text = std::to_string(instr.arg);
  if (instr.object) {
    const bool is_name = PyUnicode_Check(instr.object) && instr.op != Op::kLoadConst;
    const char* name = is_name ? PyUnicode_AsUTF8(instr.object) : nullptr;
    text += (text.empty() ? "" : " ") + (name ? std::string(name) : constant_text(instr.object));
  }
  if (instr.target >= 0) text += (text.empty() ? "-> " : " -> ") + std::to_string(instr.target);
  return text;
}

}  // namespace

std::string print(const Code& code) {
  std::string text = "code " + code.qualname + "  ; line " + std::to_string(code.first_line) + ", " +
                     std::to_string(code.slot_count) + " slots\n";
  std::set<int32_t> targets;
  for (const Instr& instr : code.instrs) targets.insert(instr.target);
  for (const ExceptionEntry& entry : code.exceptions) targets.insert(entry.target);
  int last_line = -1;
  for (size_t i = 0; i < code.instrs.size(); ++i) {
    const int line = code.position(static_cast<int>(i)).line;
    text += right(line != last_line && line > 0 ? std::to_string(line) : "", 6);
    if (line > 0) last_line = line;
    text += targets.contains(static_cast<int32_t>(i)) ? " >>" : "   ";
    text += right(std::to_string(i), 5) + "  ";
    const std::string operand = operand_text(code, code.instrs[i]);
    text += operand.empty() ? op_name(code.instrs[i].op) : padded(op_name(code.instrs[i].op), 22) + operand;
    text += "\n";
  }
  for (const ExceptionEntry& entry : code.exceptions) {
    text += "  try " + std::to_string(entry.start) + ".." + std::to_string(entry.end) + " -> " +
            std::to_string(entry.target) + " depth " + std::to_string(entry.depth) +
            (entry.push_lasti ? " lasti" : "") + "\n";
  }
  return text;
}

}  // namespace breakline::bytecode
