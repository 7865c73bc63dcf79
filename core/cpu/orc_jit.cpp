// SPDX-License-Identifier: GPL-3.0-or-later
// The LLVM ORC side: host detection, code generation, and the cache of compiled kernels of the process.
#include "core/cpu/orc_jit.h"

#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>

#include <chrono>
#include <mutex>
#include <unordered_map>

#include "core/cpu/emitter.h"
#include "core/cpu/scalar_math.h"

namespace breakline::cpu {
namespace {

std::string text_of(llvm::Error error) { return llvm::toString(std::move(error)); }

bool needs_half(const schedule::Kernel& kernel) {
  const auto is_half = [](graph::DType dtype) { return dtype == graph::DType::kFloat16; };
  for (const auto& buffer : kernel.inputs) {
    if (is_half(buffer.dtype)) return true;
  }
  for (const auto& store : kernel.outputs) {
    if (is_half(store.buffer.dtype)) return true;
  }
  for (const auto& inst : kernel.insts) {
    if (is_half(inst.half)) return true;
  }
  return false;
}

class OrcJit final : public Jit {
 public:
  static std::unique_ptr<Jit> create(std::string* why) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
    if (!builder) {
      *why = "LLVM does not know this processor: " + text_of(builder.takeError());
      return nullptr;
    }
    builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
    auto self = std::make_unique<OrcJit>();
    self->host_ = describe(builder->getCPU());
    auto made = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*builder)).create();
    if (!made) {
      *why = "LLVM could not start its JIT: " + text_of(made.takeError());
      return nullptr;
    }
    self->jit_ = std::move(*made);
    llvm::orc::SymbolMap symbols;
    for (const ScalarFunction& f : scalar_functions()) {
      symbols[self->jit_->mangleAndIntern(f.symbol)] = {llvm::orc::ExecutorAddr::fromPtr(f.address),
                                                        llvm::JITSymbolFlags::Exported};
    }
    auto& main = self->jit_->getMainJITDylib();
    if (auto error = main.define(llvm::orc::absoluteSymbols(std::move(symbols)))) {
      *why = text_of(std::move(error));
      return nullptr;
    }
    // Processors without SSE4.1 call floorf and friends.
    auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
        self->jit_->getDataLayout().getGlobalPrefix());
    if (process) {
      main.addGenerator(std::move(*process));
    } else {
      llvm::consumeError(process.takeError());
    }
    return self;
  }

  std::shared_ptr<const CompiledKernel> compile(const schedule::Kernel& kernel, std::string* why) override {
    const std::lock_guard hold(lock_);
    // The code gets the range of elements when it runs and never asks how far the outermost loop goes:
    // batches of all sizes share it.
    schedule::Kernel any_extent = kernel;
    const bool outer = kernel.reduce_count == 0 || kernel.reduce_begin > 0;
    if (!any_extent.dims.empty() && outer) any_extent.dims.front() = -1;
    const std::string key = schedule::content_key(any_extent);
    if (const auto known = cache_.find(key); known != cache_.end()) return known->second;
    const auto start = std::chrono::steady_clock::now();
    if (*why = schedule::verify(kernel); !why->empty()) return nullptr;
    if (needs_half(kernel) && !host_.half) {
      *why = "this processor has no float16 conversions";
      return nullptr;
    }
    auto made = std::make_shared<CompiledKernel>();
    const std::string symbol = "breakline_kernel_" + std::to_string(cache_.size());
    if (!generate(kernel, symbol, *made, why)) return nullptr;
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    made->compile_us = took.count();
    cache_.emplace(key, made);
    return made;
  }

  const HostTarget& host() const override { return host_; }
  int64_t compiled() const override {
    const std::lock_guard hold(lock_);
    return static_cast<int64_t>(cache_.size());
  }

 private:
  static HostTarget describe(const std::string& cpu) {
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

  bool generate(const schedule::Kernel& kernel, const std::string& symbol, CompiledKernel& made,
                std::string* why) {
    auto context = std::make_unique<llvm::LLVMContext>();
    auto module = emit_kernel(kernel, symbol, host_, *context);
    module->setDataLayout(jit_->getDataLayout());
    module->setTargetTriple(jit_->getTargetTriple().str());
    llvm::raw_string_ostream text(made.ir);
    module->print(text, nullptr);
#ifndef NDEBUG
    if (llvm::verifyModule(*module, &llvm::errs())) {
      *why = "the kernel's LLVM IR is not valid";
      return false;
    }
#endif
    if (auto error = jit_->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context)))) {
      *why = text_of(std::move(error));
      return false;
    }
    auto address = jit_->lookup(symbol);
    if (!address) {
      *why = text_of(address.takeError());
      return false;
    }
    made.run = address->toPtr<KernelFunction>();
    return true;
  }

  mutable std::mutex lock_;
  HostTarget host_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::unordered_map<std::string, std::shared_ptr<const CompiledKernel>> cache_;
};

}  // namespace

Jit* process_jit(std::string* why) {
  static std::string failure;
  // Never destroyed: code may still run while the process ends.
  static Jit* const jit = OrcJit::create(&failure).release();
  if (!jit) *why = failure;
  return jit;
}

}  // namespace breakline::cpu
