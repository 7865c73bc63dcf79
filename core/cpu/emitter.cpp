// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/emitter.h"

#include <llvm/IR/IRBuilder.h>

#include <algorithm>

#include "core/cpu/vector_math.h"

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

class Emitter {
 public:
  Emitter(const Kernel& kernel, const std::string& name, const HostTarget& host, llvm::LLVMContext& context)
      : kernel_(kernel), host_(host), module_(std::make_unique<llvm::Module>(name, context)), b_(context) {
    for (const Buffer& buffer : kernel.inputs) buffers_.push_back({&buffer});
    for (const auto& store : kernel.outputs) buffers_.push_back({&store.buffer});
    lanes_ = choose_lanes();
    make_function(name);
  }

  std::unique_ptr<llvm::Module> run() {
    prologue();
    find_invariants();
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
    int64_t step() const { return buffer->strides.back(); }
  };

  size_t input_count() const { return kernel_.inputs.size(); }

  unsigned choose_lanes() const {
    int widest = 1;
    for (const Inst& inst : kernel_.insts) widest = std::max(widest, schedule::reg_size(inst.type));
    // Two registers of the widest type per value: enough independent work to hide latencies.
    const int lanes = 2 * host_.vector_bytes / std::max(widest, 4);
    return static_cast<unsigned>(std::clamp(lanes, 4, 16));
  }

  Type* memory_type(DType dtype) {
    switch (dtype) {
      case DType::kFloat32:
        return b_.getFloatTy();
      case DType::kFloat64:
        return b_.getDoubleTy();
      case DType::kFloat16:
        return b_.getHalfTy();
      case DType::kBFloat16:
        return b_.getInt16Ty();
      default:
        return b_.getIntNTy(static_cast<unsigned>(8 * graph::item_size(dtype)));
    }
  }
  Type* scalar_type(RegType type) {
    switch (type) {
      case RegType::kBool:
        return b_.getInt1Ty();
      case RegType::kF32:
        return b_.getFloatTy();
      case RegType::kF64:
        return b_.getDoubleTy();
      default:
        return b_.getIntNTy(static_cast<unsigned>(8 * schedule::reg_size(type)));
    }
  }
  Type* vector_of(Type* type) { return llvm::FixedVectorType::get(type, lanes_); }
  Type* register_type(RegType type) { return vector_of(scalar_type(type)); }
  Value* index(int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); }
  llvm::Align align_of(const Buffer& buffer) {
    return llvm::Align(static_cast<uint64_t>(graph::item_size(buffer.dtype)));
  }
  BasicBlock* block(const char* name) { return BasicBlock::Create(b_.getContext(), name, function_); }

  void make_function(const std::string& name) {
    Type* i64 = b_.getInt64Ty();
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), i64, i64}, false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, *module_);
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    if (host_.vector_bytes == 64) {
      function_->addFnAttr("prefer-vector-width", "512");
      function_->addFnAttr("min-legal-vector-width", "512");
    }
    pointers_ = function_->getArg(0);
    begin_ = function_->getArg(1);
    end_ = function_->getArg(2);
    pointers_->setName("buffers");
    begin_->setName("begin");
    end_->setName("end");
  }

  void prologue() {
    b_.SetInsertPoint(block("entry"));
    for (size_t i = 0; i < buffers_.size(); ++i) {
      Memory& m = buffers_[i];
      Value* where = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), pointers_, i);
      m.base = b_.CreateLoad(b_.getPtrTy(), where, (i < input_count() ? "in" : "out") + std::to_string(i));
      if (i >= input_count() || m.step() != 0) m.slot = slot(vector_of(memory_type(m.buffer->dtype)));
    }
    Type* widest = vector_of(b_.getDoubleTy());
    math_ = std::make_unique<VectorMath>(b_, lanes_, host_.fma, slot(widest), slot(widest));
  }
  Value* slot(Type* type) {
    llvm::AllocaInst* alloca = b_.CreateAlloca(type);
    alloca->setAlignment(llvm::Align(64));
    return alloca;
  }

  /// Instructions that need no load with a step in the innermost dim.
  void find_invariants() {
    invariant_.assign(kernel_.insts.size(), false);
    values_.assign(kernel_.insts.size(), nullptr);
    for (size_t i = 0; i < kernel_.insts.size(); ++i) {
      const Inst& inst = kernel_.insts[i];
      const int operands[] = {inst.a, inst.b, inst.c};
      bool fixed = inst.op != Op::kLoad || buffers_[static_cast<size_t>(inst.index)].step() == 0;
      for (int k = 0; k < schedule::op_arity(inst.op); ++k)
        fixed &= invariant_[static_cast<size_t>(operands[k])];
      invariant_[i] = fixed;
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
      b_.CreateRetVoid();
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
    b_.CreateRetVoid();
  }

  /// Address of each buffer's row from the row's number.
  void find_row(Value* number) {
    std::vector<Value*> offsets(buffers_.size(), nullptr);
    for (size_t d = kernel_.dims.size() - 1; d-- > 0;) {
      Value* position = number;
      if (d > 0) {
        number = b_.CreateUDiv(position, index(kernel_.dims[d]));
        position = b_.CreateSub(position, b_.CreateMul(number, index(kernel_.dims[d])));
      }
      for (size_t i = 0; i < buffers_.size(); ++i) {
        const int64_t stride = buffers_[i].buffer->strides[d];
        if (stride == 0) continue;
        Value* step = b_.CreateMul(position, index(stride));
        offsets[i] = offsets[i] ? b_.CreateAdd(offsets[i], step) : step;
      }
    }
    for (size_t i = 0; i < buffers_.size(); ++i) {
      Memory& m = buffers_[i];
      m.row = offsets[i] ? b_.CreateGEP(memory_type(m.buffer->dtype), m.base, offsets[i]) : m.base;
    }
  }

  void row(Value* first, Value* last) {
    for (size_t i = 0; i < kernel_.insts.size(); ++i) {
      if (invariant_[i]) values_[i] = emit(kernel_.insts[i]);
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
      if (m.step() == 0) continue;
      Type* type = memory_type(m.buffer->dtype);
      Value* where = element(m, at);
      if (m.step() == 1) {
        vectors[i] = b_.CreateAlignedLoad(vector_of(type), where, align_of(*m.buffer));
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
      if (m.step() == 0) continue;
      any = true;
      // Lanes beyond the end are computed too; they start from zeros, not from what the stack holds.
      Type* type = vector_of(memory_type(m.buffer->dtype));
      b_.CreateStore(llvm::Constant::getNullValue(type), m.slot);
    }
    if (!any) return vectors;
    per_element(left, [&](Value* j) {
      for (size_t i = 0; i < input_count(); ++i) {
        const Memory& m = buffers_[i];
        if (m.step() == 0) continue;
        Type* type = memory_type(m.buffer->dtype);
        Value* x = b_.CreateAlignedLoad(type, element(m, b_.CreateAdd(at, j)), align_of(*m.buffer));
        b_.CreateAlignedStore(x, b_.CreateGEP(type, m.slot, j), align_of(*m.buffer));
      }
    });
    for (size_t i = 0; i < input_count(); ++i) {
      const Memory& m = buffers_[i];
      if (m.step() != 0) vectors[i] = b_.CreateLoad(vector_of(memory_type(m.buffer->dtype)), m.slot);
    }
    return vectors;
  }

  void store_vector(const Memory& m, Value* at, Value* vector) {
    Value* where = element(m, at);
    if (m.step() == 1) {
      b_.CreateAlignedStore(vector, where, align_of(*m.buffer));
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

  Value* from_memory(Value* x, DType dtype) {
    switch (dtype) {
      case DType::kBool:
        return b_.CreateICmpNE(x, llvm::Constant::getNullValue(x->getType()));
      case DType::kFloat16:
        return b_.CreateFPExt(x, register_type(RegType::kF32));
      case DType::kBFloat16:
        return widen_bf16(b_.CreateZExt(x, register_type(RegType::kI32)));
      default:
        return x;
    }
  }
  Value* widen_bf16(Value* bits) {
    Value* sixteen = llvm::ConstantInt::get(bits->getType(), 16);
    return b_.CreateBitCast(b_.CreateShl(bits, sixteen), register_type(RegType::kF32));
  }
  Value* to_memory(Value* x, DType dtype) {
    Type* type = vector_of(memory_type(dtype));
    switch (dtype) {
      case DType::kBool:
        return b_.CreateZExt(x, type);
      case DType::kFloat16:
        return b_.CreateFPTrunc(x, type);
      case DType::kBFloat16:
        return b_.CreateTrunc(math_->bf16_bits(x), type);
      default:
        return x;
    }
  }

  // --- instructions
  // -----------------------------------------------------------------------------------------------

  Value* operand(int id) { return values_[static_cast<size_t>(id)]; }
  RegType type_of(int id) const { return kernel_.insts[static_cast<size_t>(id)].type; }

  Value* emit(const Inst& inst) {
    switch (inst.op) {
      case Op::kLoad:
        return emit_load(inst);
      case Op::kConst:
        return emit_constant(inst);
      case Op::kCast:
        return emit_cast(operand(inst.a), type_of(inst.a), inst.type);
      case Op::kRound:
        return emit_round(operand(inst.a), inst.half);
      case Op::kSelect:
        return b_.CreateSelect(operand(inst.a), operand(inst.b), operand(inst.c));
      case Op::kFma:
        return math_->fma(operand(inst.a), operand(inst.b), operand(inst.c));
      default:
        break;
    }
    Value* x = operand(inst.a);
    Value* y = schedule::op_arity(inst.op) > 1 ? operand(inst.b) : nullptr;
    const RegType type = type_of(inst.a);
    return schedule::is_float(type) ? emit_float(inst.op, x, y) : emit_integer(inst.op, x, y, type);
  }

  Value* emit_load(const Inst& inst) {
    const Memory& m = buffers_[static_cast<size_t>(inst.index)];
    if (m.step() != 0) return from_memory(m.vector, m.buffer->dtype);
    Value* one = b_.CreateAlignedLoad(memory_type(m.buffer->dtype), m.row, align_of(*m.buffer));
    return from_memory(b_.CreateVectorSplat(lanes_, one), m.buffer->dtype);
  }

  Value* emit_constant(const Inst& inst) {
    Type* type = register_type(inst.type);
    if (schedule::is_float(inst.type)) return llvm::ConstantFP::get(type, inst.number);
    return llvm::ConstantInt::get(type, static_cast<uint64_t>(inst.integer), true);
  }

  Value* emit_cast(Value* x, RegType from, RegType to) {
    Type* type = register_type(to);
    const bool from_unsigned = from == RegType::kBool || from == RegType::kU8;
    if (to == RegType::kBool) {
      Value* zero = llvm::Constant::getNullValue(x->getType());
      return schedule::is_float(from) ? b_.CreateFCmpUNE(x, zero) : b_.CreateICmpNE(x, zero);
    }
    if (schedule::is_float(from) && schedule::is_float(to)) return b_.CreateFPCast(x, type);
    if (schedule::is_float(to)) return from_unsigned ? b_.CreateUIToFP(x, type) : b_.CreateSIToFP(x, type);
    if (!schedule::is_float(from))
      return from_unsigned ? b_.CreateZExtOrTrunc(x, type) : b_.CreateSExtOrTrunc(x, type);
    // Narrow integers are cut out of the 32-bit conversion, as the C conversion does on this machine.
    if (to == RegType::kI64) return b_.CreateFPToSI(x, type);
    return b_.CreateTrunc(b_.CreateFPToSI(x, register_type(RegType::kI32)), type);
  }

  Value* emit_round(Value* x, DType half) {
    if (half == DType::kBFloat16) return widen_bf16(math_->bf16_bits(x));
    return b_.CreateFPExt(b_.CreateFPTrunc(x, vector_of(b_.getHalfTy())), x->getType());
  }

  Value* unary(llvm::Intrinsic::ID id, Value* x) { return b_.CreateUnaryIntrinsic(id, x); }

  Value* emit_float(Op op, Value* x, Value* y) {
    using namespace llvm::Intrinsic;
    switch (op) {
      case Op::kAdd:
        return b_.CreateFAdd(x, y);
      case Op::kSub:
        return b_.CreateFSub(x, y);
      case Op::kMul:
        return b_.CreateFMul(x, y);
      case Op::kDiv:
        return b_.CreateFDiv(x, y);
      case Op::kNeg:
        return b_.CreateFNeg(x);
      case Op::kAbs:
        return unary(fabs, x);
      case Op::kCopySign:
        return b_.CreateBinaryIntrinsic(copysign, x, y);
      case Op::kSqrt:
        return unary(sqrt, x);
      case Op::kFloor:
        return unary(floor, x);
      case Op::kCeil:
        return unary(ceil, x);
      case Op::kTrunc:
        return unary(trunc, x);
      case Op::kRoundEven:
        return unary(roundeven, x);
      case Op::kEq:
        return b_.CreateFCmpOEQ(x, y);
      case Op::kNe:
        return b_.CreateFCmpUNE(x, y);
      case Op::kLt:
        return b_.CreateFCmpOLT(x, y);
      case Op::kLe:
        return b_.CreateFCmpOLE(x, y);
      case Op::kGt:
        return b_.CreateFCmpOGT(x, y);
      case Op::kGe:
        return b_.CreateFCmpOGE(x, y);
      default:
        return math_->call(op, x, y);
    }
  }

  Value* emit_integer(Op op, Value* x, Value* y, RegType type) {
    const bool is_signed = type != RegType::kU8 && type != RegType::kBool;
    const auto compare = [&](llvm::CmpInst::Predicate s, llvm::CmpInst::Predicate u) {
      return b_.CreateICmp(is_signed ? s : u, x, y);
    };
    switch (op) {
      case Op::kAdd:
        return b_.CreateAdd(x, y);
      case Op::kSub:
        return b_.CreateSub(x, y);
      case Op::kMul:
        return b_.CreateMul(x, y);
      case Op::kDiv:
        return is_signed ? b_.CreateSDiv(x, y) : b_.CreateUDiv(x, y);
      case Op::kRem:
        return is_signed ? b_.CreateSRem(x, y) : b_.CreateURem(x, y);
      case Op::kNeg:
        return b_.CreateNeg(x);
      case Op::kAbs: {
        Value* zero = llvm::Constant::getNullValue(x->getType());
        return b_.CreateSelect(b_.CreateICmpSLT(x, zero), b_.CreateNeg(x), x);
      }
      case Op::kEq:
        return b_.CreateICmpEQ(x, y);
      case Op::kNe:
        return b_.CreateICmpNE(x, y);
      case Op::kLt:
        return compare(llvm::CmpInst::ICMP_SLT, llvm::CmpInst::ICMP_ULT);
      case Op::kLe:
        return compare(llvm::CmpInst::ICMP_SLE, llvm::CmpInst::ICMP_ULE);
      case Op::kGt:
        return compare(llvm::CmpInst::ICMP_SGT, llvm::CmpInst::ICMP_UGT);
      case Op::kGe:
        return compare(llvm::CmpInst::ICMP_SGE, llvm::CmpInst::ICMP_UGE);
      case Op::kAnd:
        return b_.CreateAnd(x, y);
      case Op::kOr:
        return b_.CreateOr(x, y);
      case Op::kXor:
        return b_.CreateXor(x, y);
      case Op::kNot:
        return b_.CreateNot(x);
      case Op::kShl:
        return b_.CreateShl(x, y);
      case Op::kShr:
        return is_signed ? b_.CreateAShr(x, y) : b_.CreateLShr(x, y);
      default:
        break;
    }
    llvm_unreachable("verified kernels hold no float op on integers");
  }

  const Kernel& kernel_;
  const HostTarget& host_;
  std::unique_ptr<llvm::Module> module_;
  llvm::IRBuilder<> b_;
  unsigned lanes_ = 8;
  llvm::Function* function_ = nullptr;
  llvm::Argument *pointers_ = nullptr, *begin_ = nullptr, *end_ = nullptr;
  std::vector<Memory> buffers_;
  std::vector<bool> invariant_;
  std::vector<Value*> values_;
  std::unique_ptr<VectorMath> math_;
};

}  // namespace

std::unique_ptr<llvm::Module> emit_kernel(const Kernel& kernel, const std::string& name,
                                          const HostTarget& host, llvm::LLVMContext& context) {
  return Emitter(kernel, name, host, context).run();
}

}  // namespace breakline::cpu
