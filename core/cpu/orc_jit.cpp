// SPDX-License-Identifier: GPL-3.0-or-later
// The LLVM ORC side: first and better code of each kernel, and the cache of the process.
#include "core/cpu/orc_jit.h"

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/Support/TargetSelect.h>

#include <chrono>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "core/cpu/background.h"
#include "core/cpu/codegen.h"
#include "core/cpu/object_store.h"
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
    auto machine = llvm::orc::JITTargetMachineBuilder::detectHost();
    if (!machine) {
      *why = "LLVM does not know this processor: " + text_of(machine.takeError());
      return nullptr;
    }
    auto self = std::make_unique<OrcJit>(describe_host(machine->getCPU()));
    if (!(self->quick_ = Codegen::create(*machine, Tier::kFirst, self->host_, why))) return nullptr;
    if (!(self->better_ = Codegen::create(*machine, Tier::kBetter, self->host_, why))) return nullptr;
    auto made = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(*machine)).create();
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

  explicit OrcJit(HostTarget host) : host_(std::move(host)), store_(host_) {}

  std::shared_ptr<const CompiledKernel> compile(const schedule::Kernel& kernel, std::string* why) override {
    const std::lock_guard hold(lock_);
    // The code gets the range of units when it runs and never asks how far the outermost loop goes: batches
    // of all sizes share it.
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
    if (auto kept = store_.load(key)) {
      made->run = link(std::move(kept), symbol + "_kept", "kernel", why);
      made->tier = 1;
    }
    if (!made->run) {
      std::vector<MathFunction> needs;
      auto object = quick_->object(kernel, "kernel", why, &needs);
      if (!object || !provide(needs, why) || !(made->run = link(std::move(object), symbol, "kernel", why)))
        return nullptr;
      made->tier = 0;
      improver_.add([this, kernel, symbol, key, made] { improve(kernel, symbol, key, *made); });
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    made->compile_us = took.count();
    cache_.emplace(key, made);
    return made;
  }

  /// IR is kept: reports show it again and again.
  std::string text(const schedule::Kernel& kernel, Listing listing) override {
    const std::lock_guard hold(better_lock_);
    if (listing != Listing::kIr) return better_->text(kernel, "kernel", listing);
    std::string& known = texts_[schedule::content_key(kernel)];
    if (known.empty()) known = better_->text(kernel, "kernel", listing);
    return known;
  }

  void settle() override { improver_.settle(); }
  const HostTarget& host() const override { return host_; }
  int64_t compiled() const override {
    const std::lock_guard hold(lock_);
    return static_cast<int64_t>(cache_.size());
  }

 private:
  /// On the background thread.
  void improve(const schedule::Kernel& kernel, const std::string& symbol, const std::string& key,
               CompiledKernel& made) {
    std::string why;
    std::unique_ptr<llvm::MemoryBuffer> object;
    {
      const std::lock_guard hold(better_lock_);
      object = better_->object(kernel, "kernel", &why);
    }
    if (!object) return;  // the first code serves
    store_.save(key, object->getBuffer());
    if (const KernelFunction better = link(std::move(object), symbol + "_better", "kernel", &why)) {
      made.run = better;
      made.tier = 1;
    }
  }

  /// Makes math functions that first code calls, each once in the process. Under `lock_`.
  bool provide(const std::vector<MathFunction>& needs, std::string* why) {
    for (const MathFunction& math : needs) {
      if (!provided_.insert(math.symbol()).second) continue;
      auto object = quick_->object(math, why);
      if (!object) return false;
      if (auto error = jit_->addObjectFile(jit_->getMainJITDylib(), std::move(object))) {
        *why = text_of(std::move(error));
        return false;
      }
    }
    return true;
  }

  /// Loads an object into a library of its own, so that all of them may name their function alike.
  /// Thread-safe.
  KernelFunction link(std::unique_ptr<llvm::MemoryBuffer> object, const std::string& library,
                      const char* symbol, std::string* why) {
    auto place = jit_->createJITDylib(library);
    if (!place) {
      *why = text_of(place.takeError());
      return nullptr;
    }
    place->addToLinkOrder(jit_->getMainJITDylib());
    if (auto error = jit_->addObjectFile(*place, std::move(object))) {
      *why = text_of(std::move(error));
      return nullptr;
    }
    auto address = jit_->lookup(*place, symbol);
    if (!address) {
      *why = text_of(address.takeError());
      return nullptr;
    }
    return address->toPtr<KernelFunction>();
  }

  mutable std::mutex lock_;  ///< cache and first code
  std::mutex better_lock_;   ///< `better_` and texts
  HostTarget host_;
  ObjectStore store_;
  std::unique_ptr<Codegen> quick_, better_;
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  std::unordered_map<std::string, std::shared_ptr<CompiledKernel>> cache_;
  std::unordered_map<std::string, std::string> texts_;
  std::unordered_set<std::string> provided_;  ///< math functions in the main library
  Background improver_;
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
