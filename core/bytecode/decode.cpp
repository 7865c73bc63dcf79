// SPDX-License-Identifier: GPL-3.0-or-later
// Walks the real code once, applies the version's rules, then resolves jump targets and the exception table
// from byte offsets to instruction indices. A target inside a dropped instruction means the next one that was
// kept.
#include <algorithm>
#include <memory>
#include <unordered_map>

#include "core/bytecode/rules.h"

namespace breakline::bytecode {

void Emitter::emit(Op op, int operand, PyObject* object) {
  code.instrs.push_back(Instr{.op = op, .arg = operand, .target = -1, .offset = offset, .object = object});
}
void Emitter::emit_name(Op op, int name_index, int operand) { emit(op, operand, name(name_index)); }
void Emitter::emit_const(int index) { emit(Op::kLoadConst, 0, constant(index)); }
void Emitter::emit_jump(Op op, int target_offset, int operand) {
  emit(op, operand);
  code.instrs.back().target = target_offset;
}

namespace rules {

namespace {

struct Intrinsic {
  int number;
  Op op;
  bool pushes_none;  // the normalised op pushes nothing where the intrinsic gives None
};
// Numbers of CPython's Include/internal/pycore_intrinsics.h; part of the bytecode of 3.12 and 3.13.
constexpr Intrinsic kOneOperand[] = {
    {1, Op::kPrintExpr, true},     {2, Op::kImportStar, true},     {3, Op::kStopIterationError, false},
    {4, Op::kAsyncGenWrap, false}, {5, Op::kUnaryPositive, false}, {6, Op::kListToTuple, false},
};

}  // namespace

void intrinsic_1(Emitter& e) {
  for (const Intrinsic& row : kOneOperand) {
    if (row.number != e.arg) continue;
    e.emit(row.op);
    if (row.pushes_none) e.emit(Op::kLoadConst, 0, Py_None);
    return;
  }
  e.emit(Op::kTypeParam, e.arg);
}

void intrinsic_2(Emitter& e) {
  if (e.arg == 1) {
    e.emit(Op::kPrepReraiseStar);
  } else {
    e.emit(Op::kTypeParam, e.arg + 256);
  }
}

}  // namespace rules

namespace {

class Varints {
 public:
  Varints(const unsigned char* begin, const unsigned char* end) : at_(begin), end_(end) {}
  bool more() const { return at_ < end_; }
  int next() {
    int value = *at_ & 63;
    while (*at_++ & 64) value = value << 6 | (*at_ & 63);
    return value;
  }

 private:
  const unsigned char* at_;
  const unsigned char* end_;
};

// Index of the first instruction at or behind a byte offset.
int index_at(const std::vector<int>& index_of_unit, int offset) {
  const size_t unit = static_cast<size_t>(offset) / 2;
  return index_of_unit[std::min(unit, index_of_unit.size() - 1)];
}

// Where a handler that starts at `index` re-raises, when it does nothing but put locals back before; else -1.
int32_t passes_on_at(const Code& code, int32_t index) {
  for (; static_cast<size_t>(index) < code.instrs.size(); ++index) {
    const Instr& instr = code.instrs[static_cast<size_t>(index)];
    if (instr.op == Op::kReraise) return instr.arg == 0 ? index : -1;
    if (instr.op != Op::kSwap && instr.op != Op::kPopTop && instr.op != Op::kStoreFast) return -1;
  }
  return -1;
}

// Since 3.12 generators end in a handler of their own that turns StopIteration into RuntimeError (PEP 479);
// what resumes a generator does that for all versions alike.
bool is_generator_epilogue(const Code& code, int32_t target) {
  return static_cast<size_t>(target) < code.instrs.size() &&
         code.instrs[static_cast<size_t>(target)].op == Op::kStopIterationError;
}

void decode_exceptions(Code& code, const std::vector<int>& index_of_unit) {
  char* bytes = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(code.code->co_exceptiontable, &bytes, &size) < 0) throw py::PythonError{};
  auto* begin = reinterpret_cast<const unsigned char*>(bytes);
  Varints table(begin, begin + size);
  while (table.more()) {
    const int start = table.next() * 2;
    const int end = start + table.next() * 2;
    const int target = table.next() * 2;
    const int depth_and_lasti = table.next();
    ExceptionEntry entry{index_at(index_of_unit, start), index_at(index_of_unit, end),
                         index_at(index_of_unit, target), depth_and_lasti >> 1, (depth_and_lasti & 1) != 0};
    if (entry.start >= entry.end || is_generator_epilogue(code, entry.target)) continue;
    entry.passes_on = passes_on_at(code, entry.target);
    code.exceptions.push_back(entry);
  }
}

void decode_instructions(Code& code) {
  py::Ref bytes = py::check(PyCode_GetCode(code.code));
  auto* units = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(bytes.get()));
  const int count = static_cast<int>(PyBytes_GET_SIZE(bytes.get()) / 2);
  std::vector<int> first_of_unit(count + 1, 0);
  Emitter emitter{code, code.code};
  int extended = 0;
  for (int unit = 0; unit < count; ++unit) {
    const int opcode = units[2 * unit];
    first_of_unit[unit] = static_cast<int>(code.instrs.size());
    const int arg = extended | units[2 * unit + 1];
    if (opcode == EXTENDED_ARG) {
      extended = arg << 8;
      continue;
    }
    extended = 0;
    int caches = 0;
    while (unit + 1 + caches < count && units[2 * (unit + 1 + caches)] == CACHE) ++caches;
    emitter.offset = 2 * unit;
    emitter.arg = arg;
    emitter.after = 2 * (unit + 1 + caches);
    const size_t before = code.instrs.size();
    if (Rule rule = find_rule(opcode)) rule(emitter);
    // A rule that folds the instruction before into its own (CALL_KW) moves the fold's first index back.
    if (code.instrs.size() < before + 1 && !code.instrs.empty() &&
        code.instrs.back().offset == emitter.offset)
      first_of_unit[unit] = static_cast<int>(code.instrs.size()) - 1;
    for (int i = 1; i <= caches; ++i) first_of_unit[unit + i] = static_cast<int>(code.instrs.size());
    unit += caches;
  }
  first_of_unit[count] = static_cast<int>(code.instrs.size());
  for (Instr& instr : code.instrs)
    if (instr.target >= 0) instr.target = index_at(first_of_unit, instr.target);
  decode_exceptions(code, first_of_unit);
}

std::unique_ptr<Code> decode_new(PyCodeObject* real) {
  auto code = std::make_unique<Code>();
  Py_INCREF(real);
  code->code = real;
  code->slot_count = real->co_nlocalsplus;
  code->has_varargs = (real->co_flags & CO_VARARGS) != 0;
  code->has_varkw = (real->co_flags & CO_VARKEYWORDS) != 0;
  code->arg_slots = real->co_argcount + real->co_kwonlyargcount + code->has_varargs + code->has_varkw;
  code->is_generator = (real->co_flags & CO_GENERATOR) != 0;
  code->is_coroutine = (real->co_flags & CO_COROUTINE) != 0;
  code->is_async_generator = (real->co_flags & CO_ASYNC_GENERATOR) != 0;
  code->is_optimized = (real->co_flags & CO_OPTIMIZED) != 0;
  code->file = py::utf8(real->co_filename);
  code->name = py::utf8(real->co_name);
  code->qualname = py::utf8(real->co_qualname);
  code->first_line = real->co_firstlineno;
  decode_instructions(*code);
  return code;
}

}  // namespace

const Code* decode(PyCodeObject* real) {
  static auto* cache = new std::unordered_map<PyCodeObject*, std::unique_ptr<Code>>;
  auto found = cache->find(real);
  if (found == cache->end()) found = cache->emplace(real, decode_new(real)).first;
  return found->second.get();
}

}  // namespace breakline::bytecode
