// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/jit_loader.h"

#include <dlfcn.h>

#include <atomic>

namespace breakline::cpu {
namespace {

constexpr const char* kLibrary = "libbreakline_cpu.so";

void* open_library(std::string* why) {
  Dl_info here{};
  if (dladdr(reinterpret_cast<void*>(&open_library), &here) && here.dli_fname) {
    const std::string own = here.dli_fname;
    const size_t slash = own.rfind('/');
    const std::string beside = (slash == std::string::npos ? "" : own.substr(0, slash + 1)) + kLibrary;
    if (void* library = dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
  }
  if (void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL)) return library;
  const char* reason = dlerror();
  *why = std::string("the CPU compiler can't be loaded (") + (reason ? reason : kLibrary) + ")";
  return nullptr;
}

Jit* open_jit(std::string* why) {
  void* library = open_library(why);
  if (!library) return nullptr;
  const auto interface = reinterpret_cast<JitInterfaceFunction>(dlsym(library, kJitInterfaceSymbol));
  const auto make = reinterpret_cast<JitFunction>(dlsym(library, kJitSymbol));
  if (!interface || !make || interface() != kJitInterface) {
    *why = std::string(kLibrary) + " belongs to another build of Breakline: build it again";
    return nullptr;
  }
  return make(why);
}

std::atomic<Jit*> loaded = nullptr;

}  // namespace

Jit* load_jit(std::string* why) {
  static std::string failure;
  static Jit* const jit = open_jit(&failure);
  loaded = jit;
  if (!jit) *why = failure;
  return jit;
}

void settle_kernels() {
  if (Jit* jit = loaded) jit->settle();
}

}  // namespace breakline::cpu
