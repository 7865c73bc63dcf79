// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/emitter.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>

#include "core/cpu/body.h"
#include "core/cpu/row_emitter.h"

namespace breakline::cpu {
namespace {

using graph::DType;
using llvm::BasicBlock;
using llvm::Type;
using llvm::Value;
using schedule::Buffer;
using schedule::Inst;
using schedule::Kernel;
using schedule::Op;
using schedule::RegType;

class Emitter final : BodyEmitter {
 public:
  Emitter(const Kernel& kernel, const std::string& name, const HostTarget& host, Tier tier,
          llvm::LLVMContext& context)
      : BodyEmitter(kernel, host, tier, context, name,
                    tier == Tier::kFirst ? least_lanes(kernel, host) : usual_lanes(kernel, host)) {
    for (const Buffer& buffer : kernel.inputs) buffers_.push_back({&buffer});
    for (const auto& store : kernel.outputs) buffers_.push_back({&store.buffer});
  }

  std::unique_ptr<llvm::Module> run() {
    find_invariants();
    prologue();
    rows();
    return std::move(module_);
  }

 private:
  struct Memory {
    const Buffer* buffer;
    Value* base = nullptr;  ///< data pointer
    Value* row = nullptr;   ///< first element of the row
    Value* slot = nullptr;  ///< stack slot for the end of a row
    llvm::PHINode* vector = nullptr;
    bool gathered = false;  ///< each lane has an index of its own
    int64_t step() const { return buffer->strides.back(); }
    /// Loaded a vector at a time.
    bool walked() const { return step() != 0 && !gathered; }
  };

  size_t input_count() const { return kernel_.inputs.size(); }

  void prologue() {
    b_.SetInsertPoint(block("entry"));
    for (size_t i = 0; i < buffers_.size(); ++i) {
      Memory& m = buffers_[i];
      Value* where = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), pointers_, i);
      m.base = b_.CreateLoad(b_.getPtrTy(), where, (i < input_count() ? "in" : "out") + std::to_string(i));
      if (i >= input_count() || m.walked()) m.slot = slot(vector_of(memory_type(m.buffer->dtype)));
    }
    Type* widest = vector_of(b_.getDoubleTy());
    math_ = std::make_unique<VectorMath>(b_, lanes_, host_.fma, tier_, slot(widest), slot(widest));
  }
  /// Instructions that need no load with a step in the innermost dim.
  void find_invariants() {
    invariant_.assign(kernel_.insts.size(), false);
    values_.assign(kernel_.insts.size(), nullptr);
    for (size_t i = 0; i < kernel_.insts.size(); ++i) {
      const Inst& inst = kernel_.insts[i];
      const int operands[] = {inst.a, inst.b, inst.c};
      bool fixed = !schedule::is_load(inst.op) || buffers_[static_cast<size_t>(inst.index)].step() == 0;
      for (int k = 0; k < schedule::op_arity(inst.op); ++k)
        fixed &= invariant_[static_cast<size_t>(operands[k])];
      invariant_[i] = fixed;
      if (inst.op == Op::kLoadAt)
        buffers_[static_cast<size_t>(inst.index)].gathered = !invariant_[static_cast<size_t>(inst.a)];
    }
  }

  // --- loops
  // ------------------------------------------------------------------------------------------------------

  void rows() {
    const int64_t extent = kernel_.dims.back();
    auto* entry = b_.GetInsertBlock();
    if (kernel_.dims.size() == 1) {
      for (Memory& m : buffers_) m.row = m.base;
      row(begin_, end_);
      finish();
      return;
    }
    auto* head = block("rows");
    auto* body = block("row");
    auto* done = block("done");
    b_.CreateBr(head);
    b_.SetInsertPoint(head);
    llvm::PHINode* at = b_.CreatePHI(b_.getInt64Ty(), 2, "at");
    at->addIncoming(begin_, entry);
    b_.CreateCondBr(b_.CreateICmpSLT(at, end_), body, done);
    b_.SetInsertPoint(body);
    Value* number = b_.CreateUDiv(at, index(extent), "number");
    Value* first = b_.CreateSub(at, b_.CreateMul(number, index(extent)), "first");
    Value* rest = b_.CreateAdd(first, b_.CreateSub(end_, at));
    Value* last = b_.CreateSelect(b_.CreateICmpSLT(rest, index(extent)), rest, index(extent), "last");
    find_row(number);
    row(first, last);
    Value* next = b_.CreateAdd(at, b_.CreateSub(last, first));
    at->addIncoming(next, b_.GetInsertBlock());
    b_.CreateBr(head);
    b_.SetInsertPoint(done);
    finish();
  }

  /// Address of each buffer's row from the row's number.
  void find_row(Value* number) {
    const std::vector<Value*> offsets = offsets_of(number, kernel_.dims.size() - 1);
    for (size_t i = 0; i < buffers_.size(); ++i) {
      Memory& m = buffers_[i];
      m.row = offsets[i] ? b_.CreateGEP(memory_type(m.buffer->dtype), m.base, offsets[i]) : m.base;
    }
  }

  void row(Value* first, Value* last) {
    last_ = last;
    for (size_t i = 0; i < kernel_.insts.size(); ++i) {
      const Inst& inst = kernel_.insts[i];
      Memory* m = inst.op == Op::kLoadAt ? &buffers_[static_cast<size_t>(inst.index)] : nullptr;
      if (m && !m->gathered) m->row = b_.CreateGEP(memory_type(m->buffer->dtype), m->row, distance(inst));
      if (invariant_[i]) values_[i] = emit(inst);
    }
    auto* before = b_.GetInsertBlock();
    auto *head = block("vectors"), *choose = block("choose"), *whole = block("load_whole"),
         *part = block("load_part");
    auto *body = block("body"), *store_whole = block("store_whole"), *store_part = block("store_part");
    auto *latch = block("next"), *done = block("row_done");
    b_.CreateBr(head);

    b_.SetInsertPoint(head);
    llvm::PHINode* at = b_.CreatePHI(b_.getInt64Ty(), 2, "i");
    at->addIncoming(first, before);
    b_.CreateCondBr(b_.CreateICmpSLT(at, last), choose, done);

    b_.SetInsertPoint(choose);
    Value* left = b_.CreateSub(last, at, "left");
    Value* full = b_.CreateICmpSGE(left, index(lanes_), "full");
    b_.CreateCondBr(full, whole, part);

    b_.SetInsertPoint(whole);
    std::vector<Value*> direct = load_whole(at);
    b_.CreateBr(body);
    whole = b_.GetInsertBlock();

    b_.SetInsertPoint(part);
    std::vector<Value*> copied = load_part(at, left);
    b_.CreateBr(body);
    part = b_.GetInsertBlock();

    b_.SetInsertPoint(body);
    at_ = at;
    for (size_t i = 0; i < input_count(); ++i) {
      if (!direct[i]) continue;
      buffers_[i].vector = b_.CreatePHI(direct[i]->getType(), 2);
      buffers_[i].vector->addIncoming(direct[i], whole);
      buffers_[i].vector->addIncoming(copied[i], part);
    }
    for (size_t i = 0; i < kernel_.insts.size(); ++i) {
      if (!invariant_[i]) values_[i] = emit(kernel_.insts[i]);
    }
    std::vector<Value*> results;
    for (const auto& store : kernel_.outputs) {
      results.push_back(to_memory(values_[static_cast<size_t>(store.inst)], store.buffer.dtype));
    }
    b_.CreateCondBr(full, store_whole, store_part);

    b_.SetInsertPoint(store_whole);
    for (size_t i = 0; i < results.size(); ++i) store_vector(buffers_[input_count() + i], at, results[i]);
    b_.CreateBr(latch);

    b_.SetInsertPoint(store_part);
    store_by_element(at, left, results);
    b_.CreateBr(latch);

    b_.SetInsertPoint(latch);
    at->addIncoming(b_.CreateAdd(at, index(lanes_)), latch);
    b_.CreateBr(head);
    b_.SetInsertPoint(done);
  }

  // --- memory
  // -----------------------------------------------------------------------------------------------------

  Value* element(const Memory& m, Value* position) {
    Value* offset = m.step() == 1 ? position : b_.CreateMul(position, index(m.step()));
    return b_.CreateGEP(memory_type(m.buffer->dtype), m.row, offset);
  }

  std::vector<Value*> load_whole(Value* at) {
    std::vector<Value*> vectors(input_count(), nullptr);
    for (size_t i = 0; i < input_count(); ++i) {
      const Memory& m = buffers_[i];
      if (!m.walked()) continue;
      Type* type = memory_type(m.buffer->dtype);
      Value* where = element(m, at);
      if (m.step() == 1) {
        vectors[i] = b_.CreateAlignedLoad(vector_of(type), where, align_of(*m.buffer));
        continue;
      }
      if (m.step() == 2) {
        vectors[i] = load_alternate(m, where);
        continue;
      }
      Value* vector = llvm::PoisonValue::get(vector_of(type));
      for (unsigned lane = 0; lane < lanes_; ++lane) {
        Value* from = b_.CreateConstGEP1_64(type, where, static_cast<uint64_t>(m.step() * lane));
        vector = b_.CreateInsertElement(vector, b_.CreateAlignedLoad(type, from, align_of(*m.buffer)), lane);
      }
      vectors[i] = vector;
    }
    return vectors;
  }

  /// Every second element, out of two vectors of which the second ends with the last one wanted.
  Value* load_alternate(const Memory& m, Value* where) {
    Type* type = memory_type(m.buffer->dtype);
    const llvm::Align align = align_of(*m.buffer);
    Value* low = b_.CreateAlignedLoad(vector_of(type), where, align);
    Value* high = b_.CreateAlignedLoad(vector_of(type), b_.CreateConstGEP1_64(type, where, lanes_ - 1), align);
    llvm::SmallVector<int> order;
    for (unsigned lane = 0; lane < lanes_; ++lane)
      order.push_back(static_cast<int>(2 * lane < lanes_ ? 2 * lane : 2 * lane + 1));
    return b_.CreateShuffleVector(low, high, order);
  }

  /// A loop over the elements that are left; `each` gets the counter.
  template <typename Each>
  void per_element(Value* left, Each each) {
    auto* before = b_.GetInsertBlock();
    auto *loop = block("element"), *done = block("elements_done");
    b_.CreateBr(loop);
    b_.SetInsertPoint(loop);
    llvm::PHINode* j = b_.CreatePHI(b_.getInt64Ty(), 2, "j");
    j->addIncoming(b_.getInt64(0), before);
    each(j);
    Value* next = b_.CreateAdd(j, b_.getInt64(1));
    j->addIncoming(next, loop);
    b_.CreateCondBr(b_.CreateICmpSLT(next, left), loop, done);
    b_.SetInsertPoint(done);
  }

  std::vector<Value*> load_part(Value* at, Value* left) {
    std::vector<Value*> vectors(input_count(), nullptr);
    bool any = false;
    for (size_t i = 0; i < input_count(); ++i) {
      const Memory& m = buffers_[i];
      if (!m.walked()) continue;
      any = true;
      // Lanes beyond the end are computed too; they start from zeros, not from what the stack holds.
      Type* type = vector_of(memory_type(m.buffer->dtype));
      b_.CreateStore(llvm::Constant::getNullValue(type), m.slot);
    }
    if (!any) return vectors;
    per_element(left, [&](Value* j) {
      for (size_t i = 0; i < input_count(); ++i) {
        const Memory& m = buffers_[i];
        if (!m.walked()) continue;
        Type* type = memory_type(m.buffer->dtype);
        Value* x = b_.CreateAlignedLoad(type, element(m, b_.CreateAdd(at, j)), align_of(*m.buffer));
        b_.CreateAlignedStore(x, b_.CreateGEP(type, m.slot, j), align_of(*m.buffer));
      }
    });
    for (size_t i = 0; i < input_count(); ++i) {
      const Memory& m = buffers_[i];
      if (m.walked()) vectors[i] = b_.CreateLoad(vector_of(memory_type(m.buffer->dtype)), m.slot);
    }
    return vectors;
  }

  void store_vector(const Memory& m, Value* at, Value* vector) {
    Value* where = element(m, at);
    if (m.step() == 1) {
      store_contiguous(vector, where, align_of(*m.buffer));
      return;
    }
    Type* type = memory_type(m.buffer->dtype);
    for (unsigned lane = 0; lane < lanes_; ++lane) {
      Value* to = b_.CreateConstGEP1_64(type, where, static_cast<uint64_t>(m.step() * lane));
      b_.CreateAlignedStore(b_.CreateExtractElement(vector, lane), to, align_of(*m.buffer));
    }
  }

  void store_by_element(Value* at, Value* left, const std::vector<Value*>& results) {
    for (size_t i = 0; i < results.size(); ++i) b_.CreateStore(results[i], buffers_[input_count() + i].slot);
    per_element(left, [&](Value* j) {
      for (size_t i = 0; i < results.size(); ++i) {
        const Memory& m = buffers_[input_count() + i];
        Type* type = memory_type(m.buffer->dtype);
        Value* x = b_.CreateAlignedLoad(type, b_.CreateGEP(type, m.slot, j), align_of(*m.buffer));
        b_.CreateAlignedStore(x, element(m, b_.CreateAdd(at, j)), align_of(*m.buffer));
      }
    });
  }

  Value* emit_load(const Inst& inst) override {
    const Memory& m = buffers_[static_cast<size_t>(inst.index)];
    if (m.gathered) return from_memory(load_lanes(*m.buffer, m.row, places(m, inst)), m.buffer->dtype);
    if (m.step() != 0) return from_memory(m.vector, m.buffer->dtype);
    Value* one = b_.CreateAlignedLoad(memory_type(m.buffer->dtype), m.row, align_of(*m.buffer));
    return from_memory(b_.CreateVectorSplat(lanes_, one), m.buffer->dtype);
  }

  /// Of each lane's element in the row; lanes beyond the end of the row take its last place.
  Value* places(const Memory& m, const Inst& inst) {
    Value* own = distances(inst);
    if (m.step() == 0) return own;
    Type* type = own->getType()->getScalarType();
    const auto splat = [&](Value* x) { return b_.CreateVectorSplat(lanes_, b_.CreateTrunc(x, type)); };
    Value* most = splat(b_.CreateSub(b_.CreateSub(last_, at_), b_.getInt64(1)));
    Value* lane = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, counting(1, type), most);
    Value* position = b_.CreateAdd(lane, splat(at_));
    return b_.CreateAdd(own, b_.CreateMul(position, splat(index(m.step()))));
  }

  std::vector<Memory> buffers_;
  std::vector<bool> invariant_;
  Value *at_ = nullptr, *last_ = nullptr;  ///< the vector's first element in the row, the row's end
};

}  // namespace

std::unique_ptr<llvm::Module> emit_kernel(const Kernel& kernel, const std::string& name,
                                          const HostTarget& host, Tier tier, llvm::LLVMContext& context) {
  if (kernel.reduce_count > 0) return emit_rows(kernel, name, host, tier, context);
  return Emitter(kernel, name, host, tier, context).run();
}

}  // namespace breakline::cpu
