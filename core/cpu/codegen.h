// SPDX-License-Identifier: GPL-3.0-or-later
// One kernel to an object file, or to text, for one tier. LLVM only; no JIT, no cache.
#pragma once
#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>
#include <vector>

#include "core/cpu/emitter.h"
#include "core/cpu/jit.h"

namespace breakline::cpu {

/// What the processor offers; `machine` names it for LLVM.
HostTarget describe_host(const std::string& cpu);

class Codegen {
 public:
  /// Null with a sentence in `why` when LLVM has no code generator for `machine`.
  static std::unique_ptr<Codegen> create(llvm::orc::JITTargetMachineBuilder machine, Tier tier,
                                         const HostTarget& host, std::string* why);
  /// Machine code with one function `symbol`, or null with a sentence in `why`. One thread at a time.
  /// `needs`, where given, gets the math functions that the code calls.
  std::unique_ptr<llvm::MemoryBuffer> object(const schedule::Kernel& kernel, const std::string& symbol,
                                             std::string* why, std::vector<MathFunction>* needs = nullptr);
  /// The same for a math function that first code calls.
  std::unique_ptr<llvm::MemoryBuffer> object(const MathFunction& math, std::string* why);
  std::string text(const schedule::Kernel& kernel, const std::string& symbol, Listing listing);

 private:
  /// Passes and what they work with. Kept between kernels: to set them up takes longer than to run them over
  /// a small kernel.
  struct Pipeline {
    llvm::LLVMContext context;
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream stream{bytes};
    llvm::legacy::PassManager passes;
    int made = 0;
  };

  Codegen(std::unique_ptr<llvm::TargetMachine> machine, Tier tier, const HostTarget& host)
      : machine_(std::move(machine)), tier_(tier), host_(host) {}
  std::unique_ptr<llvm::Module> module(const schedule::Kernel& kernel, const std::string& symbol,
                                       llvm::LLVMContext& context);
  void prepare(llvm::Module& module) const;
  /// The pipeline for objects, with room for one more; null with a sentence in `why`.
  Pipeline* next_pipeline(std::string* why);
  std::unique_ptr<llvm::MemoryBuffer> run(Pipeline& pipeline, llvm::Module& module, std::string* why);
  std::unique_ptr<Pipeline> make_pipeline(llvm::CodeGenFileType type, std::string* why);
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<Pipeline> objects_;
  Tier tier_;
  HostTarget host_;
};

}  // namespace breakline::cpu
