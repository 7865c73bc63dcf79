// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/body.h"

#include <algorithm>

namespace breakline::cpu {

using graph::DType;
using llvm::Type;
using llvm::Value;
using schedule::Inst;
using schedule::Op;
using schedule::RegType;

bool is_dear(Op op) { return (op >= Op::kExp && op <= Op::kPow) || op == Op::kRem; }

unsigned least_lanes(const schedule::Kernel& kernel, const HostTarget& host) {
  int widest = 4;
  for (const Inst& inst : kernel.insts) widest = std::max(widest, schedule::reg_size(inst.type));
  return static_cast<unsigned>(std::max(host.vector_bytes / widest, 2));
}

unsigned usual_lanes(const schedule::Kernel& kernel, const HostTarget& host) {
  constexpr size_t kFew = 14;
  bool short_body = kernel.insts.size() <= kFew;
  for (const Inst& inst : kernel.insts) short_body &= !is_dear(inst.op);
  return std::clamp((short_body ? 4 : 2) * least_lanes(kernel, host), 4U, 64U);
}

void set_attributes(llvm::Function& function, const HostTarget& host) {
  function.addFnAttr(llvm::Attribute::NoUnwind);
  if (host.vector_bytes != 64) return;
  function.addFnAttr("prefer-vector-width", "512");
  function.addFnAttr("min-legal-vector-width", "512");
}

std::unique_ptr<llvm::Module> emit_math(const MathFunction& math, const HostTarget& host,
                                        llvm::LLVMContext& context) {
  auto module = std::make_unique<llvm::Module>(math.symbol(), context);
  llvm::IRBuilder<> b(context);
  Type* vector = llvm::FixedVectorType::get(b.getFloatTy(), math.lanes);
  const std::vector<Type*> types(static_cast<size_t>(schedule::op_arity(math.op)), vector);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(vector, types, false),
                                          llvm::GlobalValue::ExternalLinkage, math.symbol(), *module);
  set_attributes(*function, host);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  Value* scratch[2];
  for (Value*& slot : scratch) {
    llvm::AllocaInst* made = b.CreateAlloca(llvm::FixedVectorType::get(b.getDoubleTy(), math.lanes));
    made->setAlignment(llvm::Align(64));
    slot = made;
  }
  VectorMath code(b, math.lanes, host.fma, Tier::kBetter, scratch[0], scratch[1]);
  b.CreateRet(code.call(math.op, function->getArg(0), types.size() > 1 ? function->getArg(1) : nullptr));
  return module;
}

Type* BodyEmitter::memory_type(DType dtype) {
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
Type* BodyEmitter::scalar_type(RegType type) {
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
Type* BodyEmitter::vector_of(Type* type) { return llvm::FixedVectorType::get(type, lanes_); }
Type* BodyEmitter::register_type(RegType type) { return vector_of(scalar_type(type)); }
Value* BodyEmitter::index(int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); }
llvm::Align BodyEmitter::align_of(const schedule::Buffer& buffer) {
  return llvm::Align(static_cast<uint64_t>(graph::item_size(buffer.dtype)));
}
llvm::BasicBlock* BodyEmitter::block(const char* name) {
  return llvm::BasicBlock::Create(b_.getContext(), name, function_);
}
Value* BodyEmitter::slot(Type* type) {
  llvm::AllocaInst* alloca = b_.CreateAlloca(type);
  alloca->setAlignment(llvm::Align(64));
  return alloca;
}

void BodyEmitter::make_function(const std::string& name) {
  Type* i64 = b_.getInt64Ty();
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), i64, i64}, false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, *module_);
  set_attributes(*function_, host_);
  pointers_ = function_->getArg(0);
  begin_ = function_->getArg(1);
  end_ = function_->getArg(2);
  pointers_->setName("buffers");
  begin_->setName("begin");
  end_->setName("end");
}

std::vector<Value*> BodyEmitter::offsets_of(Value* number, size_t dims) {
  std::vector<const schedule::Buffer*> buffers;
  for (const schedule::Buffer& input : kernel_.inputs) buffers.push_back(&input);
  for (const auto& store : kernel_.outputs) buffers.push_back(&store.buffer);
  std::vector<Value*> offsets(buffers.size(), nullptr);
  for (size_t d = dims; d-- > 0;) {
    Value* position = number;
    if (d > 0) {
      number = b_.CreateUDiv(position, index(kernel_.dims[d]));
      position = b_.CreateSub(position, b_.CreateMul(number, index(kernel_.dims[d])));
    }
    for (size_t i = 0; i < buffers.size(); ++i) {
      const int64_t stride = buffers[i]->strides[d];
      if (stride == 0) continue;
      Value* step = b_.CreateMul(position, index(stride));
      offsets[i] = offsets[i] ? b_.CreateAdd(offsets[i], step) : step;
    }
  }
  return offsets;
}

void BodyEmitter::store_contiguous(Value* vector, Value* where, llvm::Align align) {
  constexpr uint64_t kLine = 64;
  llvm::StoreInst* store = b_.CreateAlignedStore(vector, where, align);
  const uint64_t bytes = module_->getDataLayout().getTypeStoreSize(vector->getType());
  if (!kernel_.streaming || bytes % kLine != 0) return;
  store->setAlignment(llvm::Align(kLine));
  auto* one = llvm::ConstantAsMetadata::get(b_.getInt32(1));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(b_.getContext(), {one}));
}

Value* BodyEmitter::distances(const Inst& inst) {
  Value* a = operand(inst.a);
  return b_.CreateMul(a, llvm::ConstantInt::get(a->getType(), static_cast<uint64_t>(inst.integer)));
}
Value* BodyEmitter::distance(const Inst& inst) {
  Value* first = b_.CreateExtractElement(operand(inst.a), b_.getInt64(0));
  return b_.CreateMul(b_.CreateSExt(first, b_.getInt64Ty()), index(inst.integer));
}
Value* BodyEmitter::load_lanes(const schedule::Buffer& buffer, Value* where, Value* offsets) {
  Type* type = memory_type(buffer.dtype);
  Value* vector = llvm::PoisonValue::get(vector_of(type));
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    Value* from = b_.CreateGEP(type, where, b_.CreateExtractElement(offsets, lane));
    vector = b_.CreateInsertElement(vector, b_.CreateAlignedLoad(type, from, align_of(buffer)), lane);
  }
  return vector;
}
Value* BodyEmitter::counting(int64_t step, Type* type) {
  llvm::SmallVector<llvm::Constant*> numbers;
  for (unsigned lane = 0; lane < lanes_; ++lane)
    numbers.push_back(llvm::ConstantInt::get(type, static_cast<uint64_t>(step) * lane));
  return llvm::ConstantVector::get(numbers);
}

void BodyEmitter::finish() {
  if (kernel_.streaming) b_.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
  b_.CreateRetVoid();
}

Value* BodyEmitter::from_memory(Value* x, DType dtype) {
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
Value* BodyEmitter::widen_bf16(Value* bits) {
  Value* sixteen = llvm::ConstantInt::get(bits->getType(), 16);
  return b_.CreateBitCast(b_.CreateShl(bits, sixteen), register_type(RegType::kF32));
}
Value* BodyEmitter::to_memory(Value* x, DType dtype) {
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

Value* BodyEmitter::emit(const Inst& inst) {
  switch (inst.op) {
    case Op::kLoad:
    case Op::kLoadAt:
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

Value* BodyEmitter::emit_constant(const Inst& inst) {
  Type* type = register_type(inst.type);
  if (schedule::is_float(inst.type)) return llvm::ConstantFP::get(type, inst.number);
  return llvm::ConstantInt::get(type, static_cast<uint64_t>(inst.integer), true);
}

Value* BodyEmitter::emit_cast(Value* x, RegType from, RegType to) {
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

Value* BodyEmitter::emit_round(Value* x, DType half) {
  if (half == DType::kBFloat16) return widen_bf16(math_->bf16_bits(x));
  return b_.CreateFPExt(b_.CreateFPTrunc(x, vector_of(b_.getHalfTy())), x->getType());
}

Value* BodyEmitter::unary(llvm::Intrinsic::ID id, Value* x) { return b_.CreateUnaryIntrinsic(id, x); }

Value* BodyEmitter::emit_float(Op op, Value* x, Value* y) {
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

Value* BodyEmitter::emit_integer(Op op, Value* x, Value* y, RegType type) {
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

}  // namespace breakline::cpu
