// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/parallel.h"

#include <dlfcn.h>

namespace breakline::cpu {
namespace {

/// torch/csrc/stable/c/shim.h
using Body = void (*)(int64_t begin, int64_t end, void* context);
using ParallelFor = int32_t (*)(int64_t begin, int64_t end, int64_t grain, Body body, void* context);
using ThreadCount = int32_t (*)(uint32_t* count);

struct Pool {
  ParallelFor parallel_for = nullptr;
  ThreadCount thread_count = nullptr;
  Pool() {
    void* torch = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
    if (!torch) return;
    parallel_for = reinterpret_cast<ParallelFor>(dlsym(torch, "torch_parallel_for"));
    thread_count = reinterpret_cast<ThreadCount>(dlsym(torch, "torch_get_num_threads"));
  }
  uint32_t threads() const {
    uint32_t count = 1;
    return parallel_for && thread_count && thread_count(&count) == 0 ? count : 1;
  }
};

struct Job {
  KernelFunction function;
  void* const* buffers;
  int64_t numel;
};

/// Pieces start at multiples of this many elements, so that vectors are rarely cut.
constexpr int64_t kPiece = 256;

}  // namespace

void run_kernel(KernelFunction function, void* const* buffers, int64_t numel) {
  static const Pool pool;
  if (numel < 2 * kGrain || pool.threads() < 2) {
    function(buffers, 0, numel);
    return;
  }
  Job job{function, buffers, numel};
  const int64_t pieces = (numel + kPiece - 1) / kPiece;
  const Body body = [](int64_t begin, int64_t end, void* context) {
    const Job& j = *static_cast<const Job*>(context);
    const int64_t last = end * kPiece < j.numel ? end * kPiece : j.numel;
    j.function(j.buffers, begin * kPiece, last);
  };
  if (pool.parallel_for(0, pieces, kGrain / kPiece, body, &job) != 0) function(buffers, 0, numel);
}

}  // namespace breakline::cpu
