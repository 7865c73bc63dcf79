// SPDX-License-Identifier: GPL-3.0-or-later
// Kernel IR to LLVM IR with explicit vectors.
#pragma once
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <string>

#include "core/cpu/body.h"

namespace breakline::cpu {

/// A module with one function `name` of type KernelFunction.
///
/// The innermost dim is cut into vectors. A vector's loads come either straight from memory or, at the end of
/// a row, element by element through a stack slot; both ways meet in one body, so each element is computed by
/// the same instructions wherever it lies. What depends on no loop variable of the innermost dim is computed
/// once per row. Both tiers compute the same bits: where the width of a vector has a say in them
/// (reductions), it is the same, too.
std::unique_ptr<llvm::Module> emit_kernel(const schedule::Kernel& kernel, const std::string& name,
                                          const HostTarget& host, Tier tier, llvm::LLVMContext& context);

}  // namespace breakline::cpu
