// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/codegen.h"

#include <llvm/IR/Verifier.h>
#include <llvm/TargetParser/Host.h>

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

std::unique_ptr<Codegen> Codegen::create(llvm::orc::JITTargetMachineBuilder machine, Tier tier,
                                         const HostTarget& host, std::string* why) {
  machine.setCodeGenOptLevel(tier == Tier::kFirst ? llvm::CodeGenOptLevel::None
                                                  : llvm::CodeGenOptLevel::Default);
  auto made = machine.createTargetMachine();
  if (!made) {
    *why = "LLVM has no code generator for this processor: " + llvm::toString(made.takeError());
    return nullptr;
  }
  return std::unique_ptr<Codegen>(new Codegen(std::move(*made), tier, host));
}

std::unique_ptr<llvm::Module> Codegen::module(const schedule::Kernel& kernel, const std::string& symbol,
                                              llvm::LLVMContext& context) {
  auto module = emit_kernel(kernel, symbol, host_, tier_, context);
  prepare(*module);
  return module;
}

void Codegen::prepare(llvm::Module& module) const {
  module.setDataLayout(machine_->createDataLayout());
  module.setTargetTriple(machine_->getTargetTriple().str());
}

std::unique_ptr<Codegen::Pipeline> Codegen::make_pipeline(llvm::CodeGenFileType type, std::string* why) {
  auto made = std::make_unique<Pipeline>();
  if (machine_->addPassesToEmitFile(made->passes, made->stream, nullptr, type)) {
    *why = "LLVM cannot write code for this processor";
    return nullptr;
  }
  return made;
}

Codegen::Pipeline* Codegen::next_pipeline(std::string* why) {
  // A context keeps every constant and type it ever saw.
  constexpr int kMostPerContext = 200;
  if (objects_ && objects_->made >= kMostPerContext) objects_.reset();
  if (!objects_) objects_ = make_pipeline(llvm::CodeGenFileType::ObjectFile, why);
  if (objects_) ++objects_->made;
  return objects_.get();
}

std::unique_ptr<llvm::MemoryBuffer> Codegen::run(Pipeline& pipeline, llvm::Module& module,
                                                 [[maybe_unused]] std::string* why) {
#ifndef NDEBUG
  if (llvm::verifyModule(module, &llvm::errs())) {
    *why = "the kernel's LLVM IR is not valid";
    return nullptr;
  }
#endif
  pipeline.bytes.clear();
  pipeline.passes.run(module);
  return llvm::MemoryBuffer::getMemBufferCopy(pipeline.stream.str(), module.getName());
}

std::unique_ptr<llvm::MemoryBuffer> Codegen::object(const schedule::Kernel& kernel, const std::string& symbol,
                                                    std::string* why, std::vector<MathFunction>* needs) {
  Pipeline* pipeline = next_pipeline(why);
  if (!pipeline) return nullptr;
  const auto made = module(kernel, symbol, pipeline->context);
  if (needs) {
    for (const llvm::Function& function : *made) {
      if (const auto math = MathFunction::of(function.getName())) needs->push_back(*math);
    }
  }
  return run(*pipeline, *made, why);
}

std::unique_ptr<llvm::MemoryBuffer> Codegen::object(const MathFunction& math, std::string* why) {
  Pipeline* pipeline = next_pipeline(why);
  if (!pipeline) return nullptr;
  const auto made = emit_math(math, host_, pipeline->context);
  prepare(*made);
  return run(*pipeline, *made, why);
}

std::string Codegen::text(const schedule::Kernel& kernel, const std::string& symbol, Listing listing) {
  if (listing == Listing::kIr) {
    llvm::LLVMContext context;
    const auto made = module(kernel, symbol, context);
    std::string text;
    llvm::raw_string_ostream stream(text);
    made->print(stream, nullptr);
    return text;
  }
  std::string why;
  const auto pipeline = make_pipeline(llvm::CodeGenFileType::AssemblyFile, &why);
  if (!pipeline) return "";
  const auto made = module(kernel, symbol, pipeline->context);
  pipeline->passes.run(*made);
  return pipeline->stream.str().str();
}

}  // namespace breakline::cpu
