// SPDX-License-Identifier: GPL-3.0-or-later
// Private: what is known of torch names beyond the op table. Rules for whole namespaces are in registry.cpp.
#pragma once
#include <span>
#include <string_view>

#include "core/torch/registry.h"

namespace breakline::torch {

/// Where the names of a group are looked up.
enum class Scope : uint8_t {
  kTorch,       ///< attribute of torch, of torch._C and of torch._C._VariableFunctions
  kTensor,      ///< attribute of torch.Tensor (method)
  kBoth,        ///< kTorch and kTensor
  kFunctional,  ///< attribute of torch.functional (Python functions kept whole)
  kOperator,    ///< attribute of the operator module
};

struct NameGroup {
  Scope scope;
  CallableKind kind;
  std::string_view reason;  ///< id of a break reason, or ""
  std::string_view names;   ///< separated by spaces
};

/// Later groups override earlier ones and the namespace rule.
std::span<const NameGroup> name_groups();
/// Ops whose output shape depends on data.
std::string_view dynamic_shape_names();
/// Ops that draw from a generator.
std::string_view random_names();
/// Ops that can raise on right metadata (an index out of range, a singular matrix).
std::string_view may_fail_names();
/// Ops whose meta kernel is missing or answers other strides than the real one, while their results' metadata follow from the
/// operands' metadata alone: they are asked on small real tensors. None draws from the random stream.
std::string_view asked_for_real_names();

/// Ops that take tensors and answer with no tensor, from nothing but metadata that guards pin. Any other such answer (an address, an
/// offset, whether it is a view) is not taken from the tensors that stand in while tracing.
std::string_view metadata_answer_names();

/// Attributes of tensors that are getset descriptors.
struct AttributeGroup {
  AttributeKind kind;
  std::string_view reason;
  std::string_view names;
};
std::span<const AttributeGroup> attribute_groups();

}  // namespace breakline::torch
