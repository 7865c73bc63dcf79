// SPDX-License-Identifier: GPL-3.0-or-later
// What the emitters of loops share: the function, its types, and the scalar program as vector instructions.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <string>
#include <vector>

#include "core/cpu/jit.h"
#include "core/cpu/vector_math.h"

namespace breakline::cpu {

/// Takes many instructions: worth keeping rather than computing again.
bool is_dear(schedule::Op op);
/// Elements of a vector: of short bodies without dear functions four registers of the widest type per value,
/// else two, for independent work that hides latencies.
unsigned usual_lanes(const schedule::Kernel& kernel, const HostTarget& host);
/// Elements of one register of the widest type: vectors that the code generator has not to take apart.
unsigned least_lanes(const schedule::Kernel& kernel, const HostTarget& host);

/// What every function needs on `host`.
void set_attributes(llvm::Function& function, const HostTarget& host);
/// A module with one function `math.symbol()` of vectors in registers.
std::unique_ptr<llvm::Module> emit_math(const MathFunction& math, const HostTarget& host,
                                        llvm::LLVMContext& context);

class BodyEmitter {
 protected:
  using Value = llvm::Value;
  using Type = llvm::Type;

  BodyEmitter(const schedule::Kernel& kernel, const HostTarget& host, Tier tier, llvm::LLVMContext& context,
              const std::string& name, unsigned lanes)
      : kernel_(kernel),
        host_(host),
        tier_(tier),
        module_(std::make_unique<llvm::Module>(name, context)),
        b_(context),
        lanes_(lanes) {
    make_function(name);
  }
  virtual ~BodyEmitter() = default;

  Type* memory_type(graph::DType dtype);
  Type* scalar_type(schedule::RegType type);
  Type* vector_of(Type* type);
  Type* register_type(schedule::RegType type);
  Value* index(int64_t value);
  llvm::Align align_of(const schedule::Buffer& buffer);
  llvm::BasicBlock* block(const char* name);
  /// Per buffer (inputs, then outputs): elements from its first one to the place that `number` counts over
  /// the first `dims` loops; null where it does not move.
  std::vector<Value*> offsets_of(Value* number, size_t dims);
  /// A stack slot; only where the entry block is being filled.
  Value* slot(Type* type);

  /// A whole vector to neighbouring elements; past the cache when the kernel streams.
  void store_contiguous(Value* vector, Value* where, llvm::Align align);
  /// Return, behind the stores that went past the cache.
  void finish();

  /// A vector in its memory form as registers, and back.
  Value* from_memory(Value* x, graph::DType dtype);
  Value* to_memory(Value* x, graph::DType dtype);

  Value* operand(int id) { return values_[static_cast<size_t>(id)]; }
  schedule::RegType type_of(int id) const { return kernel_.insts[static_cast<size_t>(id)].type; }
  /// The instruction on `values_`, which hold its operands. Not for reductions.
  Value* emit(const schedule::Inst& inst);
  virtual Value* emit_load(const schedule::Inst& inst) = 0;

  /// kLoadAt: the operand times the step, per lane; and of the first lane, where all have the same.
  Value* distances(const schedule::Inst& inst);
  Value* distance(const schedule::Inst& inst);
  /// Elements at `offsets` (integer lanes, in elements) from `where`.
  Value* load_lanes(const schedule::Buffer& buffer, Value* where, Value* offsets);
  /// 0, 1, 2 … in lanes of `type`, times `step`.
  Value* counting(int64_t step, Type* type);
  Value* counting(int64_t step) { return counting(step, b_.getInt64Ty()); }

  const schedule::Kernel& kernel_;
  const HostTarget& host_;
  Tier tier_;
  std::unique_ptr<llvm::Module> module_;
  llvm::IRBuilder<> b_;
  unsigned lanes_;
  llvm::Function* function_ = nullptr;
  llvm::Argument *pointers_ = nullptr, *begin_ = nullptr, *end_ = nullptr;
  std::vector<Value*> values_;  ///< per instruction
  std::unique_ptr<VectorMath> math_;

 private:
  void make_function(const std::string& name);
  Value* widen_bf16(Value* bits);
  Value* emit_constant(const schedule::Inst& inst);
  Value* emit_cast(Value* x, schedule::RegType from, schedule::RegType to);
  Value* emit_round(Value* x, graph::DType half);
  Value* unary(llvm::Intrinsic::ID id, Value* x);
  Value* emit_float(schedule::Op op, Value* x, Value* y);
  Value* emit_integer(schedule::Op op, Value* x, Value* y, schedule::RegType type);
};

}  // namespace breakline::cpu
