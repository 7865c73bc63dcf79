// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/row_emitter.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "core/cpu/body.h"

namespace breakline::cpu {
namespace {

using graph::DType;
using llvm::Value;
using schedule::Buffer;
using schedule::Inst;
using schedule::Kernel;
using schedule::Op;
using schedule::RegType;
using schedule::Stage;

unsigned choose_lanes(const Kernel& kernel, const HostTarget& host) {
  int64_t lanes = usual_lanes(kernel, host);
  while (lanes > 4 && lanes / 2 >= kernel.dims.back()) lanes /= 2;
  return static_cast<unsigned>(std::clamp<int64_t>(lanes, 4, 64));
}

class RowEmitter final : BodyEmitter {
 public:
  RowEmitter(const Kernel& kernel, const std::string& name, const HostTarget& host, Tier tier,
             llvm::LLVMContext& context)
      : BodyEmitter(kernel, host, tier, context, name, choose_lanes(kernel, host)),
        stages_(schedule::stages(kernel)),
        first_(static_cast<size_t>(kernel.reduce_begin)),
        end_dim_(first_ + static_cast<size_t>(kernel.reduce_count)),
        across_(end_dim_ < kernel.dims.size()) {
    for (const Buffer& buffer : kernel.inputs) buffers_.push_back({&buffer});
    for (const auto& store : kernel.outputs) buffers_.push_back({&store.buffer});
    values_.assign(kernel.insts.size(), nullptr);
    find_lane_varying();
    plan_passes();
  }

  std::unique_ptr<llvm::Module> run() {
    prologue();
    if (across_) {
      blocks();
    } else {
      loop(begin_, end_, 1, {}, [&](Value* unit, const Values&) {
        find_unit(unit);
        compute_unit(nullptr);
        return Values{};
      });
    }
    finish();
    return std::move(module_);
  }

 private:
  using Values = std::vector<Value*>;
  using LoopBody = std::function<Values(Value* at, const Values& carried)>;

  struct Memory {
    const Buffer* buffer;
    Value* base = nullptr;  ///< data pointer
    Value* unit = nullptr;  ///< first element of the unit (of its first lane)
  };

  /// One walk over the reduced dims.
  struct Pass {
    std::vector<int> insts;      ///< varying instructions to compute, in order
    std::vector<int> reduces;    ///< reductions that gather in it
    std::vector<size_t> stores;  ///< outputs written in it
    std::vector<int> keeps;      ///< instructions whose values are put on the stack
    bool ahead = false;          ///< the next unit's elements are called into the cache meanwhile
    bool empty() const { return reduces.empty() && stores.empty(); }
  };

  /// Where a pass stands.
  struct Place {
    Values rows;            ///< per buffer: its element for the outer reduced dims
    Value* at = nullptr;    ///< position in the innermost reduced dim
    Value* mask = nullptr;  ///< lanes that count, null: all
    Value* kept = nullptr;  ///< element of the stack's rows
  };

  const Inst& inst(int id) const { return kernel_.insts[static_cast<size_t>(id)]; }
  const Stage& stage(int id) const { return stages_[static_cast<size_t>(id)]; }
  bool moves(const Buffer& buffer) const {
    for (size_t d = first_; d < end_dim_; ++d) {
      if (buffer.strides[d] != 0) return true;
    }
    return false;
  }
  int64_t lane_step(const Memory& m) const { return m.buffer->strides.back(); }

  /// Instructions whose value is not the same in every lane of a vector.
  void find_lane_varying() {
    lane_varies_.assign(kernel_.insts.size(), false);
    for (size_t i = 0; i < kernel_.insts.size(); ++i) {
      const Inst& it = kernel_.insts[i];
      bool varies =
          schedule::is_load(it.op) && kernel_.inputs[static_cast<size_t>(it.index)].strides.back() != 0;
      const int operands[] = {it.a, it.b, it.c};
      for (int k = 0; k < schedule::op_arity(it.op); ++k)
        varies |= lane_varies_[static_cast<size_t>(operands[k])];
      lane_varies_[i] = varies && (across_ || !schedule::is_reduction(it.op));
    }
  }

  // --- passes

  void plan_passes() {
    int last = 0;
    for (size_t i = 0; i < stages_.size(); ++i) last = std::max(last, stages_[i].pass);
    passes_.resize(static_cast<size_t>(last) + 1);
    for (size_t i = 0; i < kernel_.insts.size(); ++i) {
      if (schedule::is_reduction(kernel_.insts[i].op))
        passes_[static_cast<size_t>(stages_[i].pass) - 1].reduces.push_back(static_cast<int>(i));
    }
    for (size_t o = 0; o < kernel_.outputs.size(); ++o) {
      if (moves(kernel_.outputs[o].buffer))
        passes_[static_cast<size_t>(stage(kernel_.outputs[o].inst).pass)].stores.push_back(o);
    }
    std::vector<std::vector<bool>> needed;
    for (const Pass& pass : passes_) needed.push_back(closure(pass, {}));
    // What a later pass wants again is kept by the first that has it, while the stack allows.
    constexpr int64_t kMostBytes = 128 << 10;
    int64_t bytes = 0;
    std::vector<bool> kept(kernel_.insts.size(), false);
    for (size_t p = 0; p < passes_.size(); ++p) {
      for (size_t i = 0; i < kept.size(); ++i) {
        if (kept[i] || !needed[p][i] || !is_dear(kernel_.insts[i].op)) continue;
        const bool again = std::any_of(needed.begin() + static_cast<int64_t>(p) + 1, needed.end(),
                                       [&](const std::vector<bool>& later) { return later[i]; });
        const int64_t size = kept_extent() * schedule::reg_size(kernel_.insts[i].type);
        if (!again || bytes + size > kMostBytes) continue;
        bytes += size;
        kept[i] = true;
        passes_[p].keeps.push_back(static_cast<int>(i));
      }
    }
    std::vector<bool> there(kernel_.insts.size(), false);
    for (Pass& pass : passes_) {
      const std::vector<bool> wanted = closure(pass, there);
      for (size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i]) pass.insts.push_back(static_cast<int>(i));
      }
      for (const int id : pass.keeps) there[static_cast<size_t>(id)] = true;
    }
    // The first pass waits for memory while the others compute: the second asks for what the next unit's
    // first will read. (The machine's own look-ahead ends with each page of 4 KiB.)
    if (kernel_.streaming && !across_ && first_ > 0 && passes_.size() > 1) passes_[1].ahead = true;
  }

  /// Varying instructions that the roots of a pass need; those `there` already need nothing.
  std::vector<bool> closure(const Pass& pass, const std::vector<bool>& there) const {
    std::vector<bool> wanted(kernel_.insts.size(), false);
    for (const int id : pass.reduces) wanted[static_cast<size_t>(inst(id).a)] = true;
    for (const size_t o : pass.stores) wanted[static_cast<size_t>(kernel_.outputs[o].inst)] = true;
    for (const int id : pass.keeps) wanted[static_cast<size_t>(id)] = true;
    for (size_t i = wanted.size(); i-- > 0;) {
      if (!stages_[i].varies) wanted[i] = false;
      if (!wanted[i] || (!there.empty() && there[i])) continue;
      const int operands[] = {kernel_.insts[i].a, kernel_.insts[i].b, kernel_.insts[i].c};
      for (int k = 0; k < schedule::op_arity(kernel_.insts[i].op); ++k)
        wanted[static_cast<size_t>(operands[k])] = true;
    }
    return wanted;
  }

  /// Elements of a row on the stack.
  int64_t kept_extent() const {
    int64_t n = 1;
    for (size_t d = first_; d < end_dim_; ++d) n *= kernel_.dims[d];
    if (across_) return n * lanes_;
    const int64_t inner = kernel_.dims.back();
    return n / inner * padded(inner);
  }
  int64_t padded(int64_t n) const { return (n + lanes_ - 1) / lanes_ * lanes_; }

  // --- loops

  void prologue() {
    b_.SetInsertPoint(block("entry"));
    for (size_t i = 0; i < buffers_.size(); ++i) {
      Value* where = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), pointers_, i);
      buffers_[i].base = b_.CreateLoad(b_.getPtrTy(), where);
    }
    Type* widest = vector_of(b_.getDoubleTy());
    Value *scratch_a = slot(widest), *scratch_b = slot(widest);
    math_ = std::make_unique<VectorMath>(b_, lanes_, host_.fma, tier_, scratch_a, scratch_b);
    rows_kept_.assign(kernel_.insts.size(), nullptr);
    for (const Pass& pass : passes_) {
      for (const int id : pass.keeps) {
        Type* element = b_.getIntNTy(static_cast<unsigned>(8 * schedule::reg_size(inst(id).type)));
        rows_kept_[static_cast<size_t>(id)] =
            slot(llvm::ArrayType::get(element, static_cast<uint64_t>(kept_extent())));
      }
    }
  }

  /// for (at = from; at < to; at += step) carried = body(at, carried)
  Values loop(Value* from, Value* to, int64_t step, const Values& start, const LoopBody& body) {
    auto* before = b_.GetInsertBlock();
    auto *head = block("head"), *inside = block("inside"), *done = block("done");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    llvm::PHINode* at = b_.CreatePHI(b_.getInt64Ty(), 2);
    at->addIncoming(from, before);
    std::vector<llvm::PHINode*> carried;
    for (Value* value : start) {
      carried.push_back(b_.CreatePHI(value->getType(), 2));
      carried.back()->addIncoming(value, before);
    }
    b_.CreateCondBr(b_.CreateICmpSLT(at, to), inside, done);
    b_.SetInsertPoint(inside);
    const Values next = body(at, Values(carried.begin(), carried.end()));
    at->addIncoming(b_.CreateAdd(at, index(step)), b_.GetInsertBlock());
    for (size_t i = 0; i < next.size(); ++i) carried[i]->addIncoming(next[i], b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(done);
    return Values(carried.begin(), carried.end());
  }

  /// Address of each buffer's first element for the unit's number over the dims before the reduced ones.
  void find_unit(Value* number) {
    const Values offsets = offsets_of(number, first_);
    for (size_t i = 0; i < buffers_.size(); ++i) buffers_[i].unit = moved(buffers_[i].base, i, offsets[i]);
  }
  Value* moved(Value* pointer, size_t buffer, Value* offset) {
    return offset ? b_.CreateGEP(memory_type(buffers_[buffer].buffer->dtype), pointer, offset) : pointer;
  }
  Value* moved(Value* pointer, size_t buffer, Value* position, int64_t stride) {
    if (stride == 0) return pointer;
    return moved(pointer, buffer, stride == 1 ? position : b_.CreateMul(position, index(stride)));
  }

  /// Units side by side, a vector of them at a time.
  void blocks() {
    const int64_t extent = kernel_.dims.back();
    auto* entry = b_.GetInsertBlock();
    auto *head = block("blocks"), *body = block("line"), *done = block("end");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    llvm::PHINode* at = b_.CreatePHI(b_.getInt64Ty(), 2);
    at->addIncoming(begin_, entry);
    b_.CreateCondBr(b_.CreateICmpSLT(at, end_), body, done);
    b_.SetInsertPoint(body);
    Value* number = b_.CreateUDiv(at, index(extent));
    Value* first = b_.CreateSub(at, b_.CreateMul(number, index(extent)));
    Value* rest = b_.CreateAdd(first, b_.CreateSub(end_, at));
    Value* last = b_.CreateSelect(b_.CreateICmpSLT(rest, index(extent)), rest, index(extent));
    find_unit(number);
    Values lines;
    for (const Memory& m : buffers_) lines.push_back(m.unit);
    loop(first, last, lanes_, {}, [&](Value* v, const Values&) {
      for (size_t i = 0; i < buffers_.size(); ++i)
        buffers_[i].unit = moved(lines[i], i, v, lane_step(buffers_[i]));
      Value* left = b_.CreateSub(last, v);
      auto *whole = block("whole"), *part = block("part"), *next = block("next");
      b_.CreateCondBr(b_.CreateICmpSGE(left, index(lanes_)), whole, part);
      b_.SetInsertPoint(whole);
      compute_unit(nullptr);
      b_.CreateBr(next);
      b_.SetInsertPoint(part);
      compute_unit(b_.CreateICmpULT(counting(1), b_.CreateVectorSplat(lanes_, left)));
      b_.CreateBr(next);
      b_.SetInsertPoint(next);
      return Values{};
    });
    Value* after = b_.CreateAdd(at, b_.CreateSub(last, first));
    at->addIncoming(after, b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(done);
  }

  // --- a unit

  /// `mask`: lanes that are units (across), null: all.
  void compute_unit(Value* mask) {
    for (size_t p = 0; p < passes_.size(); ++p) {
      unit_mask_ = mask;
      uniform(static_cast<int>(p));
      if (!passes_[p].empty()) walk(passes_[p], mask);
    }
    for (size_t o = 0; o < kernel_.outputs.size(); ++o) {
      const auto& store = kernel_.outputs[o];
      if (moves(store.buffer)) continue;
      const Memory& m = buffers_[kernel_.inputs.size() + o];
      Value* value = to_memory(operand(store.inst), store.buffer.dtype);
      if (across_) {
        store_vector(m, m.unit, value, mask);
      } else {
        b_.CreateAlignedStore(b_.CreateExtractElement(value, b_.getInt64(0)), m.unit, align_of(store.buffer));
      }
    }
  }

  /// Instructions without a value per element that can be computed before pass `p`.
  void uniform(int p) {
    place_ = nullptr;
    for (size_t i = 0; i < kernel_.insts.size(); ++i) {
      const Inst& it = kernel_.insts[i];
      if (!stages_[i].varies && stages_[i].pass == p && !schedule::is_reduction(it.op)) values_[i] = emit(it);
    }
  }

  void walk(const Pass& pass, Value* mask) {
    const Values start = neutrals(pass);
    Values rows;
    for (const Memory& m : buffers_) rows.push_back(m.unit);
    const Values sums = walk_dim(pass, first_, rows, index(0), start, mask);
    for (size_t i = 0; i < pass.reduces.size(); ++i) {
      const Inst& it = inst(pass.reduces[i]);
      values_[static_cast<size_t>(pass.reduces[i])] = across_ ? sums[i] : over_lanes(it, sums[i]);
    }
  }

  Values walk_dim(const Pass& pass, size_t d, const Values& rows, Value* linear, const Values& start,
                  Value* mask) {
    const int64_t extent = kernel_.dims[d];
    if (d + 1 == end_dim_)
      return across_ ? walk_across(pass, rows, linear, start, mask) : walk_along(pass, rows, linear, start);
    return loop(index(0), index(extent), 1, start, [&](Value* at, const Values& carried) {
      Values inner;
      for (size_t i = 0; i < rows.size(); ++i)
        inner.push_back(moved(rows[i], i, at, buffers_[i].buffer->strides[d]));
      Value* number = b_.CreateAdd(b_.CreateMul(linear, index(extent)), at);
      // Each row of elements is summed by itself: long sums lose bits.
      return combined(pass, carried, walk_dim(pass, d + 1, inner, number, neutrals(pass), mask));
    });
  }

  /// A loop whose carried values are gathered in pieces: a sum loses bits with each step of its longest
  /// chain.
  Values in_pieces(const Pass& pass, int64_t from, int64_t to, int64_t step, const Values& start,
                   const LoopBody& body) {
    const int64_t length = ((to - from) / step < 1024 ? 16 : 64) * step;
    if (to - from <= 2 * length) return loop(index(from), index(to), step, start, body);
    return loop(index(from), index(to), length, start, [&](Value* at, const Values& carried) {
      Value* end = b_.CreateAdd(at, index(length));
      Value* stop = b_.CreateSelect(b_.CreateICmpSLT(end, index(to)), end, index(to));
      return combined(pass, carried, loop(at, stop, step, neutrals(pass), body));
    });
  }
  Values neutrals(const Pass& pass) {
    Values zero;
    for (const int id : pass.reduces) zero.push_back(neutral(inst(id)));
    return zero;
  }
  Values combined(const Pass& pass, const Values& carried, const Values& piece) {
    Values result;
    for (size_t i = 0; i < piece.size(); ++i)
      result.push_back(combine(inst(pass.reduces[i]), carried[i], piece[i]));
    return result;
  }

  Values walk_across(const Pass& pass, const Values& rows, Value* linear, const Values& start, Value* mask) {
    const int64_t extent = kernel_.dims[end_dim_ - 1];
    Value* first = b_.CreateMul(linear, index(extent));
    return in_pieces(pass, 0, extent, 1, start, [&](Value* at, const Values& carried) {
      Place place{rows, at, mask, b_.CreateMul(b_.CreateAdd(first, at), index(lanes_))};
      return element(pass, place, carried);
    });
  }

  Values walk_along(const Pass& pass, const Values& rows, Value* linear, const Values& start) {
    const int64_t extent = kernel_.dims.back(), whole = extent / lanes_ * lanes_;
    Value* first = b_.CreateMul(linear, index(padded(extent)));
    Values sums = start;
    if (whole > 0) {
      sums = in_pieces(pass, 0, whole, lanes_, sums, [&](Value* at, const Values& carried) {
        return element(pass, Place{rows, at, nullptr, b_.CreateAdd(first, at)}, carried);
      });
    }
    if (whole < extent) {
      llvm::SmallVector<llvm::Constant*> bits;
      for (unsigned lane = 0; lane < lanes_; ++lane) bits.push_back(b_.getInt1(lane < extent - whole));
      Value* at = index(whole);
      sums = element(pass, Place{rows, at, llvm::ConstantVector::get(bits), b_.CreateAdd(first, at)}, sums);
    }
    return sums;
  }

  /// One vector of a pass.
  Values element(const Pass& pass, const Place& place, const Values& carried) {
    place_ = &place;
    for (const int id : pass.insts) {
      Value*& value = values_[static_cast<size_t>(id)];
      const bool keeps = std::find(pass.keeps.begin(), pass.keeps.end(), id) != pass.keeps.end();
      Value* row = rows_kept_[static_cast<size_t>(id)];
      if (row && !keeps) {
        value = b_.CreateAlignedLoad(register_type(inst(id).type), kept_at(row, id, place),
                                     llvm::Align(kept_align(id)));
        continue;
      }
      value = emit(inst(id));
      if (keeps) b_.CreateAlignedStore(value, kept_at(row, id, place), llvm::Align(kept_align(id)));
    }
    Values result;
    for (size_t i = 0; i < pass.reduces.size(); ++i) {
      const Inst& it = inst(pass.reduces[i]);
      Value* sum = combine(it, carried[i], operand(it.a));
      result.push_back(place.mask && !across_ ? b_.CreateSelect(place.mask, sum, carried[i]) : sum);
    }
    for (const size_t o : pass.stores) {
      const auto& store = kernel_.outputs[o];
      const size_t at = kernel_.inputs.size() + o;
      store_vector(buffers_[at], address(at, place), to_memory(operand(store.inst), store.buffer.dtype),
                   place.mask);
    }
    if (pass.ahead) call_ahead(place);
    place_ = nullptr;
    return result;
  }

  /// Asks for the elements of the next unit that lie where this place does.
  void call_ahead(const Place& place) {
    constexpr int64_t kLine = 64, kMostBytes = 64 << 10;
    for (size_t i = 0; i < kernel_.inputs.size(); ++i) {
      const Buffer& buffer = kernel_.inputs[i];
      const int64_t size = graph::item_size(buffer.dtype), next = buffer.strides[first_ - 1];
      if (buffer.strides.back() != 1 || next == 0 || kept_extent() * size > kMostBytes) continue;
      Value* where =
          b_.CreateConstGEP1_64(memory_type(buffer.dtype), address(i, place), static_cast<uint64_t>(next));
      for (int64_t at = 0; at < lanes_ * size; at += kLine) {
        Value* line = b_.CreateConstGEP1_64(b_.getInt8Ty(), where, static_cast<uint64_t>(at));
        b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                           {line, b_.getInt32(0), b_.getInt32(3), b_.getInt32(1)});
      }
    }
  }
  Value* kept_at(Value* row, int id, const Place& place) {
    return b_.CreateGEP(b_.getIntNTy(static_cast<unsigned>(8 * schedule::reg_size(inst(id).type))), row,
                        place.kept);
  }
  uint64_t kept_align(int id) const { return static_cast<uint64_t>(schedule::reg_size(inst(id).type)); }

  // --- memory

  Value* address(size_t buffer, const Place& place) {
    return moved(place.rows[buffer], buffer, place.at, buffers_[buffer].buffer->strides[end_dim_ - 1]);
  }

  Value* emit_load(const Inst& it) override {
    const size_t at = static_cast<size_t>(it.index);
    const Memory& m = buffers_[at];
    Value* where = place_ ? address(at, *place_) : m.unit;
    const int64_t step = place_ || across_ ? lane_step(m) : 0;
    Value* mask = place_ ? place_->mask : unit_mask_;
    if (it.op == Op::kLoadAt) {
      if (lane_varies_[static_cast<size_t>(it.a)]) {
        // Lanes that do not count read what the first would with index 0.
        Value* own = distances(it);
        Value* offsets = b_.CreateAdd(own, counting(step, own->getType()->getScalarType()));
        if (mask) offsets = b_.CreateSelect(mask, offsets, llvm::Constant::getNullValue(offsets->getType()));
        return from_memory(load_lanes(*m.buffer, where, offsets), m.buffer->dtype);
      }
      where = moved(where, at, distance(it));
    }
    return from_memory(load_vector(m, where, step, mask), m.buffer->dtype);
  }

  Value* load_vector(const Memory& m, Value* where, int64_t step, Value* mask) {
    Type* type = memory_type(m.buffer->dtype);
    const llvm::Align align = align_of(*m.buffer);
    if (step == 0) return b_.CreateVectorSplat(lanes_, b_.CreateAlignedLoad(type, where, align));
    Value* none = llvm::Constant::getNullValue(vector_of(type));
    if (step == 1) {
      if (mask) return b_.CreateMaskedLoad(vector_of(type), where, align, mask, none);
      return b_.CreateAlignedLoad(vector_of(type), where, align);
    }
    if (mask)
      return b_.CreateMaskedGather(vector_of(type), lane_pointers(type, where, step), align, mask, none);
    Value* vector = llvm::PoisonValue::get(vector_of(type));
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      Value* from = b_.CreateConstGEP1_64(type, where, static_cast<uint64_t>(step * lane));
      vector = b_.CreateInsertElement(vector, b_.CreateAlignedLoad(type, from, align), lane);
    }
    return vector;
  }
  Value* lane_pointers(Type* type, Value* where, int64_t step) {
    return b_.CreateGEP(type, where, counting(step));
  }

  void store_vector(const Memory& m, Value* where, Value* vector, Value* mask) {
    Type* type = memory_type(m.buffer->dtype);
    const llvm::Align align = align_of(*m.buffer);
    const int64_t step = lane_step(m);
    if (step == 1) {
      if (mask) {
        b_.CreateMaskedStore(vector, where, align, mask);
      } else {
        store_contiguous(vector, where, align);
      }
      return;
    }
    if (mask) {
      b_.CreateMaskedScatter(vector, lane_pointers(type, where, step), align, mask);
      return;
    }
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      Value* to = b_.CreateConstGEP1_64(type, where, static_cast<uint64_t>(step * lane));
      b_.CreateAlignedStore(b_.CreateExtractElement(vector, lane), to, align);
    }
  }

  // --- reductions

  Value* neutral(const Inst& it) {
    Type* type = register_type(it.type);
    if (schedule::is_float(it.type)) {
      const double infinity = std::numeric_limits<double>::infinity();
      const double start = it.op == Op::kReduceSum                              ? 0
                           : it.op == Op::kReduceProd                           ? 1
                           : it.op == Op::kReduceMax || it.op == Op::kReduceTop ? -infinity
                                                                                : infinity;
      return llvm::ConstantFP::get(type, start);
    }
    const auto bits = static_cast<unsigned>(scalar_type(it.type)->getIntegerBitWidth());
    const bool is_signed = it.type != RegType::kU8;
    llvm::APInt start(bits, 0);
    if (it.op == Op::kReduceProd || it.op == Op::kReduceAll) start = llvm::APInt(bits, 1);
    if (it.op == Op::kReduceMax && is_signed) start = llvm::APInt::getSignedMinValue(bits);
    if (it.op == Op::kReduceMin)
      start = is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
    return llvm::ConstantInt::get(type, start);
  }

  /// On vectors of any length.
  Value* combine(const Inst& it, Value* x, Value* y) {
    const bool floats = schedule::is_float(it.type), is_signed = it.type != RegType::kU8;
    switch (it.op) {
      case Op::kReduceSum:
        return floats ? b_.CreateFAdd(x, y) : b_.CreateAdd(x, y);
      case Op::kReduceProd:
        return floats ? b_.CreateFMul(x, y) : b_.CreateMul(x, y);
      case Op::kReduceMax:
        if (floats) return b_.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, x, y);
        return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, x, y);
      case Op::kReduceTop:
        return b_.CreateSelect(b_.CreateFCmpOGT(x, y), x, y);
      case Op::kReduceMin:
        if (floats) return b_.CreateBinaryIntrinsic(llvm::Intrinsic::minimum, x, y);
        return b_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, x, y);
      case Op::kReduceAny:
        return b_.CreateOr(x, y);
      default:
        return b_.CreateAnd(x, y);
    }
  }

  /// One number from all lanes, in every lane.
  Value* over_lanes(const Inst& it, Value* vector) {
    for (int half = static_cast<int>(lanes_) / 2; half > 0; half /= 2) {
      llvm::SmallVector<int> low, high;
      for (int lane = 0; lane < half; ++lane) {
        low.push_back(lane);
        high.push_back(half + lane);
      }
      vector = combine(it, b_.CreateShuffleVector(vector, low), b_.CreateShuffleVector(vector, high));
    }
    return b_.CreateVectorSplat(lanes_, b_.CreateExtractElement(vector, b_.getInt64(0)));
  }

  std::vector<Stage> stages_;
  std::vector<bool> lane_varies_;
  size_t first_, end_dim_;  ///< reduced dims
  bool across_;             ///< vectors are cut from the dim behind them
  std::vector<Memory> buffers_;
  std::vector<Pass> passes_;
  Values rows_kept_;  ///< per instruction: its row on the stack, or null
  const Place* place_ = nullptr;
  Value* unit_mask_ = nullptr;
};

}  // namespace

std::unique_ptr<llvm::Module> emit_rows(const Kernel& kernel, const std::string& name, const HostTarget& host,
                                        Tier tier, llvm::LLVMContext& context) {
  return RowEmitter(kernel, name, host, tier, context).run();
}

}  // namespace breakline::cpu
