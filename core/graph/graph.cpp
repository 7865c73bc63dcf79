// SPDX-License-Identifier: GPL-3.0-or-later
// Derived facts of tensor metadata.
#include "core/graph/graph.h"

#include <algorithm>

namespace breakline::graph {
namespace {
OpaqueKind (*classifier)(ObjectHandle) = nullptr;
}  // namespace

void set_opaque_classifier(OpaqueKind (*classify)(ObjectHandle)) { classifier = classify; }

OpaqueKind opaque_kind(const Arg& arg) {
  if (const auto* text = std::get_if<std::string>(&arg.v)) {
    if (*text == "cpu") return OpaqueKind::kCpuDevice;
    if (*text == "meta") return OpaqueKind::kMetaDevice;
    return OpaqueKind::kUnknown;
  }
  const auto* opaque = std::get_if<Opaque>(&arg.v);
  return opaque && classifier ? classifier(opaque->object) : OpaqueKind::kUnknown;
}

int64_t TensorMeta::numel() const {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

bool TensorMeta::is_contiguous() const {
  int64_t expected = 1;
  if (numel() == 0) return true;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

}  // namespace breakline::graph
