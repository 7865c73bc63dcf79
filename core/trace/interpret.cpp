// SPDX-License-Identifier: GPL-3.0-or-later
// The symbolic machine's loop: fetch an instruction, run its handler, undo or restart when it can't be traced.
#include <algorithm>
#include <utility>

#include "core/trace/inline_rules.h"
#include "core/trace/opcodes.h"
#include "core/trace/tracer.h"

namespace breakline::trace {

using bytecode::Instr;
using bytecode::Op;

Value* Tracer::run(size_t base) {
  const auto& table = opcode_table();
  const bytecode::Code* module_call = module_call_code();
  for (;;) {
    if (SymFrame& entered = top(); entered.pc == 0 && entered.code == module_call) call_module(entered);
    SymFrame& f = top();
    const Instr& in = f.code->instrs[static_cast<size_t>(f.pc)];
    f.current = f.pc;
    f.lowest = std::min(f.lowest, f.pc);
    f.highest = std::max(f.highest, f.pc);
    ++instruction_count_;
    int64_t mutations_before = mutations_;
    int64_t count_before = instruction_count_;
    if (nesting_ == 0) outer_instruction_ = instruction_count_;
    try {
      if (nesting_ == 0) {
        if (!forced_.empty()) {
          auto it = forced_.find(instruction_count_);
          if (it != forced_.end()) throw Break{it->second};
        }
        if (options_.force_break_every > 0) maybe_force_break(in);
        if (instruction_count_ > options_.instruction_limit && in.op == Op::kJump) {
          Break b;
          b.info.reason = "trace-limit";
          b.info.quiet = true;
          throw b;
        }
      }
      if (in.op == Op::kReturnValue) {
        Value* r = f.stack.back();
        if (nesting_ == 0 && frames_.size() == 1) {
          if (!mortals_.empty()) close_at_return(r, count_before);
          return r;
        }
        bool below = f.on_return == ReturnMode::kDiscard;
        if (below && constant_of(r) != Py_None) quiet("__init__() should return None", true);
        // Without `constructed` the frame was entered before this segment: the caller's stack holds the object already.
        Value* result = below && f.constructed ? f.constructed : r;
        std::unique_ptr<SymFrame> done = std::move(frames_.back());
        note_lines(*done);
        frames_.pop_back();
        done->clear();
        spare_frames_.push_back(std::move(done));
        if (frames_.size() == base) return result;
        if (!below) push(result);
        if (nesting_ == 0 && !mortals_.empty()) settle_deaths(count_before, false);
        continue;
      }
      if (in.op == Op::kYieldValue) {
        if (!f.generator || frames_.size() - 1 != base) stop("opcode", {{"opname", "YIELD_VALUE"}});
        Value* r = pop();
        push(none());  // what send() delivers
        ++f.pc;
        yielded_frame_ = std::move(frames_.back());
        frames_.pop_back();
        yielded_ = true;
        return r;
      }
      ++f.pc;
      if (watching_) run_watched(in, f, table[static_cast<size_t>(in.op)]);
      else table[static_cast<size_t>(in.op)](*this, f, in);
      if (nesting_ == 0 && !mortals_.empty()) settle_deaths(count_before, false);
    } catch (Raise& r) {
      unwind(r, base);
      if (nesting_ == 0 && !mortals_.empty()) settle_deaths(count_before, true);
    } catch (Break& b) {
      if (nesting_ > 0) throw;
      if (mutations_ != mutations_before) {
        // Half done: trace again and stop before this instruction.
        forced_[count_before] = std::move(b.info);
        throw Restart{};
      }
      top().pc = top().current;
      throw;
    } catch (py::PythonError&) {
      // A failure of our own making or a look-up that raised: executed concretely it shows what plain Python does.
      if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) throw;
      PyErr_Clear();
      Break b;
      b.info.reason = "not-constant";
      b.info.quiet = true;
      b.info.raises = true;
      if (nesting_ > 0) throw b;
      if (mutations_ != mutations_before) {
        forced_[count_before] = std::move(b.info);
        throw Restart{};
      }
      top().pc = top().current;
      throw b;
    }
  }
}

void Tracer::note_lines(const SymFrame& f) {
  if (f.highest < 0 || is_form_code(f.code)) return;
  auto [it, fresh] = instruction_ranges_.try_emplace(f.code, f.lowest, f.highest);
  if (fresh) return;
  it->second.first = std::min(it->second.first, f.lowest);
  it->second.second = std::max(it->second.second, f.highest);
}

std::map<const bytecode::Code*, std::pair<int, int>> Tracer::line_ranges() const {
  std::map<const bytecode::Code*, std::pair<int, int>> lines;
  for (const auto& [code, range] : instruction_ranges_) {
    int first = 1 << 30, last = 0;
    for (int i = range.first; i <= range.second; ++i) {
      bytecode::Position p = code->position(i);
      if (p.line <= 0) continue;
      first = std::min(first, p.line);
      last = std::max(last, std::max(p.line, p.end_line));
    }
    if (last) lines[code] = {first, last};
  }
  return lines;
}

bool Tracer::is_forced(int64_t instruction) const {
  const uint64_t h = (static_cast<uint64_t>(instruction) + options_.force_break_seed) * 0x9E3779B97F4A7C15ull;
  return (h >> 33) % static_cast<uint64_t>(options_.force_break_every) == 0;
}

void Tracer::maybe_force_break(const Instr& in) {
  if (instruction_count_ == 1) return;  // something must be traced, or nothing ever ends
  if (!is_forced(instruction_count_)) return;
  (void)in;
  Break b;
  b.info.reason = "forced";
  b.info.quiet = true;
  capture_place(b.info);
  throw b;
}

namespace {

/// Items that an iterator still gives, as far as that is known; -1 else.
int64_t remaining_of(const Value* it, int depth = 0) {
  if (!it || it->kind != Kind::kIterator || it->exhausted || depth > 4) return -1;
  switch (it->iterator) {
    case IteratorKind::kSequence: return static_cast<int64_t>(it->items[0]->items.size()) - it->position;
    case IteratorKind::kReversed: return it->position + 1;
    case IteratorKind::kRange: return it->step ? (it->stop - it->position) / it->step + 1 : -1;
    case IteratorKind::kDictView: return it->stop - it->position;
    case IteratorKind::kEnumerate: return remaining_of(it->items[0], depth + 1);
    case IteratorKind::kZip: {
      int64_t least = -1;
      for (const Value* i : it->items) {
        const int64_t n = remaining_of(i, depth + 1);
        if (n >= 0 && (least < 0 || n < least)) least = n;
      }
      return least;
    }
    default: return -1;
  }
}

}  // namespace

void Tracer::count_loop_round(SymFrame& f, int target) {
  // A round is worth its trace when it records an operation. Others may go on for a while, longer the more of the live
  // state they look at (a loop over parameters), and to their end when that is known to be near.
  auto last = std::find_if(f.last_round.begin(), f.last_round.end(), [target](const auto& round) { return round.first == target; });
  if (last == f.last_round.end()) last = f.last_round.insert(last, {target, 0});
  const int64_t since_round = instruction_count_ - std::exchange(last->second, instruction_count_);
  if (graph_->nodes.size() != progress_nodes_) {
    progress_nodes_ = graph_->nodes.size();
    progress_at_ = instruction_count_;
    progress_steps_ = steps_.size();
    return;
  }
  constexpr int64_t kPerLook = 64;     // instructions that a guard step pays for
  constexpr int64_t kToTheEnd = 60'000;
  const int64_t idle = instruction_count_ - progress_at_;
  int64_t limit = options_.idle_instructions + kPerLook * static_cast<int64_t>(steps_.size() - progress_steps_);
  if (nesting_ > 0) limit += kToTheEnd;  // a break in there gives up the whole outer instruction
  if (idle <= limit) return;
  if (idle <= 2 * kToTheEnd && f.code->instrs[static_cast<size_t>(target)].op == Op::kForIter && !f.stack.empty()) {
    const int64_t left = remaining_of(f.stack.back());
    if (left >= 0 && left * since_round <= kToTheEnd) return;
  }
  Break b;
  b.info.reason = "trace-limit";
  b.info.quiet = true;
  b.info.limit = nesting_ == 0;
  capture_place(b.info);
  throw b;
}

}  // namespace breakline::trace
