// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels with reduced dims (see schedule::Kernel) to LLVM IR.
#pragma once
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <string>

#include "core/cpu/body.h"

namespace breakline::cpu {

/// A module with one function `name` of type KernelFunction, called for a range of the kernel's units.
///
/// A unit's reduced dims are walked once for each pass that its reductions need (softmax: largest, sum,
/// result). Each pass computes again what it needs from memory, which is near by then; what is dear to
/// compute is kept on the stack instead. Vectors are cut from the innermost dim: along the reduced ones, with
/// a sum over lanes at the end, or across units where those lie side by side. Sums are added up in pieces, so
/// that their error does not grow with the length.
std::unique_ptr<llvm::Module> emit_rows(const schedule::Kernel& kernel, const std::string& name,
                                        const HostTarget& host, Tier tier, llvm::LLVMContext& context);

}  // namespace breakline::cpu
