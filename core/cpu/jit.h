// SPDX-License-Identifier: GPL-3.0-or-later
// Interface of the code generator. It lives in a shared object of its own (libbreakline_cpu.so), so that LLVM
// is loaded by the first cpu plan and not by `import breakline`. No LLVM and no Python here.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "core/schedule/kernel_ir.h"

namespace breakline::cpu {

/// Computes elements [begin, end) of the iteration space in row-major order of the loop dims. `buffers`: data
/// pointers of the inputs, then of the outputs; no alignment beyond the element's is needed. Any cut of the
/// space gives the same bits. Thread-safe, no GIL.
using KernelFunction = void (*)(void* const* buffers, int64_t begin, int64_t end);

/// First code comes fast; better code takes its place when the process has made it in the background. Both
/// give the same bits.
struct CompiledKernel {
  std::atomic<KernelFunction> run = nullptr;
  std::atomic<int> tier = 0;  ///< 0 first code, 1 optimised
  double compile_us = 0;      ///< time until it could run
};

/// Forms in which a kernel's code can be read.
enum class Listing : uint8_t { kIr, kAssembly };

/// What the code is made for.
struct HostTarget {
  std::string cpu;        ///< LLVM's name of the processor
  int vector_bytes = 16;  ///< widest vector register used
  bool fma = false;
  bool half = false;  ///< float16 conversions in hardware
};

class Jit {
 public:
  virtual ~Jit() = default;
  /// Code for `kernel`; kernels of equal content (schedule::content_key) but for the outermost extent share
  /// it for the life of the process. Null with a sentence in `why` when no code can be made. Thread-safe.
  virtual std::shared_ptr<const CompiledKernel> compile(const schedule::Kernel& kernel, std::string* why) = 0;
  /// The optimised code of `kernel` as text, made for the occasion. Thread-safe.
  virtual std::string text(const schedule::Kernel& kernel, Listing listing) = 0;
  /// Waits until all kernels have their optimised code: before a measurement.
  virtual void settle() = 0;
  virtual const HostTarget& host() const = 0;
  /// Distinct kernels compiled so far.
  virtual int64_t compiled() const = 0;
};

/// Changes whenever this file or the kernel IR does.
constexpr int kJitInterface = 4;

/// The two entry points of the shared object.
using JitInterfaceFunction = int (*)();
using JitFunction = Jit* (*)(std::string* why);
constexpr const char* kJitInterfaceSymbol = "breakline_cpu_interface";
constexpr const char* kJitSymbol = "breakline_cpu_jit";

}  // namespace breakline::cpu
