// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bytecode/code.h"

#include "core/bytecode/rules.h"

namespace breakline::bytecode {
namespace {

// Bits of co_localspluskinds (Include/internal/pycore_code.h, the same in 3.11 to 3.13).
constexpr int kCellKind = 0x40;
constexpr int kFreeKind = 0x80;

int slot_kind(PyCodeObject* code, int slot) {
  return static_cast<unsigned char>(PyBytes_AS_STRING(code->co_localspluskinds)[slot]);
}

}  // namespace

const char* op_name(Op op) {
  static const char* const names[] = {
#define X(name, note) #name,
      BREAKLINE_OPS(X)
#undef X
  };
  return op < Op::kCount ? names[static_cast<size_t>(op)] : "?";
}

Position Code::position(int index) const {
  Position p;
  PyCode_Addr2Location(code, instrs[index].offset, &p.line, &p.column, &p.end_line, &p.end_column);
  return p;
}

const ExceptionEntry* Code::handler(int index) const {
  // Entries are sorted and don't overlap: the table lists the innermost handler of each range.
  for (const ExceptionEntry& entry : exceptions)
    if (entry.start <= index && index < entry.end) return &entry;
  return nullptr;
}

PyObject* Code::slot_name(int slot) const { return PyTuple_GET_ITEM(code->co_localsplusnames, slot); }
bool Code::is_free_slot(int slot) const { return (slot_kind(code, slot) & kFreeKind) != 0; }
bool is_cell_slot(PyCodeObject* code, int slot) {
  return (slot_kind(code, slot) & (kCellKind | kFreeKind)) != 0;
}

}  // namespace breakline::bytecode
