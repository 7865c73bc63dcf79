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
  int64_t units, piece;
};

const Pool& pool() {
  static const Pool p;
  return p;
}

}  // namespace

int kernel_threads() { return static_cast<int>(pool().threads()); }

void run_kernel(KernelFunction function, void* const* buffers, int64_t units, int64_t work, int64_t piece) {
  if (units * work < 2 * kGrain || units < 2 * piece || pool().threads() < 2) {
    function(buffers, 0, units);
    return;
  }
  Job job{function, buffers, units, piece};
  const int64_t pieces = (units + piece - 1) / piece;
  const Body body = [](int64_t begin, int64_t end, void* context) {
    const Job& j = *static_cast<const Job*>(context);
    const int64_t last = end * j.piece < j.units ? end * j.piece : j.units;
    j.function(j.buffers, begin * j.piece, last);
  };
  const int64_t grain = kGrain / (piece * work) > 1 ? kGrain / (piece * work) : 1;
  if (pool().parallel_for(0, pieces, grain, body, &job) != 0) function(buffers, 0, units);
}

}  // namespace breakline::cpu
