// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/bytecode/code.h"

#include <unordered_map>

#include "core/bytecode/rules.h"

namespace breakline::bytecode {
namespace {

// Bits of co_localspluskinds (Include/internal/pycore_code.h, the same in 3.11 to 3.13).
constexpr int kCellKind = 0x40;
constexpr int kFreeKind = 0x80;
constexpr int kHiddenKind = 0x10;

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

namespace {

int number_at(PyObject* tuple, Py_ssize_t i) {
  PyObject* o = PyTuple_GET_ITEM(tuple, i);
  return o == Py_None ? -1 : static_cast<int>(PyLong_AsLong(o));
}

/// The positions of all instructions: finding one alone means reading the table up to it. Empty when that
/// failed.
std::vector<Position> all_positions(const Code& code) {
  std::vector<Position> found;
  const py::Ref iterator =
      py::Ref::steal(PyObject_CallMethod(reinterpret_cast<PyObject*>(code.code), "co_positions", nullptr));
  const py::Ref list = py::Ref::steal(iterator ? PySequence_List(iterator.get()) : nullptr);
  if (!list) {
    PyErr_Clear();
    return found;
  }
  found.reserve(code.instrs.size());
  for (const Instr& instr : code.instrs) {
    const Py_ssize_t unit = instr.offset / 2;
    if (unit >= PyList_GET_SIZE(list.get())) return {};
    PyObject* p = PyList_GET_ITEM(list.get(), unit);  // line, end line, column, end column
    found.push_back({number_at(p, 0), number_at(p, 2), number_at(p, 1), number_at(p, 3)});
  }
  return found;
}

}  // namespace

Position Code::position(int index) const {
  static auto* known =
      new std::unordered_map<const Code*, std::vector<Position>>;  // code in normal form is never freed
  const auto [it, fresh] = known->try_emplace(this);
  if (fresh) {
    py::SavedError error;
    it->second = all_positions(*this);
    error.restore();
  }
  if (static_cast<size_t>(index) < it->second.size()) return it->second[static_cast<size_t>(index)];
  Position p;
  PyCode_Addr2Location(code, instrs[static_cast<size_t>(index)].offset, &p.line, &p.column, &p.end_line,
                       &p.end_column);
  return p;
}

const ExceptionEntry* Code::handler(int index) const {
  // Entries are sorted and don't overlap: the table lists the innermost handler of each range.
  for (const ExceptionEntry& entry : exceptions)
    if (entry.start <= index && index < entry.end) return &entry;
  return nullptr;
}

bool Code::catches(int index) const {
  const ExceptionEntry* entry = handler(index);
  while (entry && entry->passes_on >= 0) entry = handler(entry->passes_on);
  return entry != nullptr;
}

PyObject* Code::slot_name(int slot) const { return PyTuple_GET_ITEM(code->co_localsplusnames, slot); }
bool Code::is_free_slot(int slot) const { return (slot_kind(code, slot) & kFreeKind) != 0; }
bool is_hidden_slot(PyCodeObject* code, int slot) { return (slot_kind(code, slot) & kHiddenKind) != 0; }
bool is_cell_slot(PyCodeObject* code, int slot) {
  return (slot_kind(code, slot) & (kCellKind | kFreeKind)) != 0;
}

}  // namespace breakline::bytecode
