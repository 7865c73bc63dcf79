// SPDX-License-Identifier: GPL-3.0-or-later
// One kernel to an object file, or to text, at one level of optimisation. LLVM only; no JIT, no cache.
#pragma once
#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "core/cpu/jit.h"

namespace breakline::cpu {

/// What the processor offers; `machine` names it for LLVM.
HostTarget describe_host(const std::string& cpu);

class Codegen {
 public:
  /// Null with a sentence in `why` when LLVM has no code generator for `machine`.
  static std::unique_ptr<Codegen> create(llvm::orc::JITTargetMachineBuilder machine,
                                         llvm::CodeGenOptLevel level, const HostTarget& host,
                                         std::string* why);
  /// Machine code with one function `symbol`, or null with a sentence in `why`. One thread at a time.
  std::unique_ptr<llvm::MemoryBuffer> object(const schedule::Kernel& kernel, const std::string& symbol,
                                             std::string* why);
  std::string text(const schedule::Kernel& kernel, const std::string& symbol, Listing listing);

 private:
  Codegen(std::unique_ptr<llvm::TargetMachine> machine, const HostTarget& host)
      : machine_(std::move(machine)), host_(host) {}
  std::unique_ptr<llvm::Module> module(const schedule::Kernel& kernel, const std::string& symbol,
                                       llvm::LLVMContext& context);
  std::unique_ptr<llvm::TargetMachine> machine_;
  HostTarget host_;
};

}  // namespace breakline::cpu
