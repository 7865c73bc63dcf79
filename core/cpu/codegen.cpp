// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/codegen.h"

#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

#include "core/cpu/emitter.h"

namespace breakline::cpu {

HostTarget describe_host(const std::string& cpu) {
  HostTarget host;
  host.cpu = cpu;
  const auto features = llvm::sys::getHostCPUFeatures();
  const auto has = [&](const char* name) {
    const auto it = features.find(name);
    return it != features.end() && it->second;
  };
  const bool wide = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
  host.vector_bytes = wide ? 64 : has("avx2") ? 32 : 16;
  host.fma = has("fma") || has("neon");
  host.half = has("f16c") || has("neon");
  return host;
}

std::unique_ptr<Codegen> Codegen::create(llvm::orc::JITTargetMachineBuilder machine,
                                         llvm::CodeGenOptLevel level, const HostTarget& host,
                                         std::string* why) {
  machine.setCodeGenOptLevel(level);
  auto made = machine.createTargetMachine();
  if (!made) {
    *why = "LLVM has no code generator for this processor: " + llvm::toString(made.takeError());
    return nullptr;
  }
  return std::unique_ptr<Codegen>(new Codegen(std::move(*made), host));
}

std::unique_ptr<llvm::Module> Codegen::module(const schedule::Kernel& kernel, const std::string& symbol,
                                              llvm::LLVMContext& context) {
  auto module = emit_kernel(kernel, symbol, host_, context);
  module->setDataLayout(machine_->createDataLayout());
  module->setTargetTriple(machine_->getTargetTriple().str());
  return module;
}

std::unique_ptr<llvm::MemoryBuffer> Codegen::object(const schedule::Kernel& kernel, const std::string& symbol,
                                                    std::string* why) {
  llvm::LLVMContext context;
  const auto made = module(kernel, symbol, context);
#ifndef NDEBUG
  if (llvm::verifyModule(*made, &llvm::errs())) {
    *why = "the kernel's LLVM IR is not valid";
    return nullptr;
  }
#endif
  auto object = llvm::orc::SimpleCompiler(*machine_)(*made);
  if (!object) {
    *why = llvm::toString(object.takeError());
    return nullptr;
  }
  return std::move(*object);
}

std::string Codegen::text(const schedule::Kernel& kernel, const std::string& symbol, Listing listing) {
  llvm::LLVMContext context;
  const auto made = module(kernel, symbol, context);
  std::string text;
  if (listing == Listing::kIr) {
    llvm::raw_string_ostream stream(text);
    made->print(stream, nullptr);
    return text;
  }
  llvm::SmallVector<char> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine_->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) return "";
  passes.run(*made);
  return std::string(bytes.begin(), bytes.end());
}

}  // namespace breakline::cpu
