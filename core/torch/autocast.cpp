// SPDX-License-Identifier: GPL-3.0-or-later
// Sources: PyTorch's op reference "Autocast Op-Specific Behavior" (CPU), and the dispatcher, which is asked
// whether an op has an autocast kernel or is composite.
#include "core/torch/autocast.h"

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/graph/shape_util.h"
#include "core/torch/library.h"

namespace breakline::torch {
namespace {

using Words = std::unordered_set<std::string_view>;

const Words& lower_ops() {
  static const Words words = {"conv1d",
                              "conv2d",
                              "conv3d",
                              "mm",
                              "bmm",
                              "addmm",
                              "baddbmm",
                              "linear",
                              "matmul",
                              "addbmm",
                              "prelu",
                              "conv_transpose1d",
                              "conv_transpose2d",
                              "conv_transpose3d",
                              "scaled_dot_product_attention"};
  return words;
}
const Words& float32_ops() {
  static const Words words = {"binary_cross_entropy",
                              "binary_cross_entropy_with_logits",
                              "prod",
                              "mse_loss",
                              "nll_loss",
                              "nll_loss_nd",
                              "smooth_l1_loss",
                              "cross_entropy_loss",
                              "l1_loss",
                              "huber_loss",
                              "avg_pool3d",
                              "upsample_nearest1d",
                              "upsample_nearest2d",
                              "upsample_nearest3d",
                              "upsample_linear1d",
                              "upsample_bilinear2d",
                              "upsample_bicubic2d",
                              "upsample_trilinear3d"};
  return words;
}
const Words& promoted_ops() {
  static const Words words = {"cat", "stack", "hstack", "vstack", "roll", "index_copy"};
  return words;
}
/// Kinds of ops with a shape rule of which autocast touches none (but for the lists above).
bool untouched_kind(graph::OpKind kind) {
  switch (kind) {
    case graph::OpKind::kPointwise:
    case graph::OpKind::kReduction:
    case graph::OpKind::kView:
    case graph::OpKind::kMovement:
    case graph::OpKind::kNorm:
    case graph::OpKind::kSoftmax:
    case graph::OpKind::kPool:
    case graph::OpKind::kEmbedding:
    case graph::OpKind::kFactory:
      return true;
    case graph::OpKind::kMatmul:
    case graph::OpKind::kConv:
    case graph::OpKind::kAttention:
    case graph::OpKind::kOther:
      return false;
  }
  return false;
}
/// Ops of no such kind that are known to be left alone.
const Words& untouched_ops() {
  static const Words words = {"cpu", "dropout", "positive", "resolve_conj", "argsort"};
  return words;
}
/// Methods that only read metadata.
const Words& metadata_methods() {
  static const Words words = {"size", "stride", "numel", "nelement", "dim", "ndimension", "is_contiguous", "is_floating_point",
                              "is_complex", "is_signed", "element_size", "storage_offset", "is_same_size", "get_device",
                              "is_conj", "is_neg", "is_coalesced", "result_type", "can_cast", "is_tensor"};
  return words;
}

/// Base names ("einsum") of operators with an AutocastCPU kernel or a composite kernel, from the dispatcher.
struct Dispatcher {
  std::unordered_set<std::string> all, touched;

  Dispatcher() {
    PyObject* c = library()->py.torch_c;
    const py::Ref names = py::Ref::steal(PyObject_CallMethod(c, "_dispatch_get_all_op_names", nullptr));
    const py::Ref has = py::Ref::steal(PyObject_GetAttrString(c, "_dispatch_has_kernel_for_dispatch_key"));
    if (!names || !has || !PyList_Check(names.get())) {
      PyErr_Clear();  // nothing is known then: every op without a row counts as unknown
      return;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names.get()); ++i) {
      PyObject* name = PyList_GET_ITEM(names.get(), i);
      std::string_view text = py::utf8(name);
      if (!text.starts_with("aten::")) continue;
      text.remove_prefix(6);
      const std::string base(text.substr(0, text.find('.')));
      all.insert(base);
      for (const char* key : {"AutocastCPU", "CompositeImplicitAutograd"}) {
        const py::Ref answer = py::Ref::steal(PyObject_CallFunction(has.get(), "Os", name, key));
        if (!answer) PyErr_Clear();
        if (answer.get() != Py_False) touched.insert(base);
      }
    }
  }
};

}  // namespace

AutocastPolicy autocast_policy(const CallableInfo& info) {
  const std::string_view row = info.row ? info.row->name : "";
  if (!row.empty()) {
    if (info.in_place && (lower_ops().contains(row) || float32_ops().contains(row) || promoted_ops().contains(row)))
      return AutocastPolicy::kUnknown;
    if (lower_ops().contains(row)) return AutocastPolicy::kLower;
    if (float32_ops().contains(row)) return AutocastPolicy::kFloat32;
    if (promoted_ops().contains(row)) return AutocastPolicy::kPromote;
    if (info.row->rule && (untouched_kind(info.row->kind) || untouched_ops().contains(row)))
      return AutocastPolicy::kNone;
  }
  static const Dispatcher& dispatcher = *new Dispatcher;
  std::string name(row.empty() ? std::string_view(info.name) : row);
  if (row.empty() && metadata_methods().contains(name.substr(name.rfind('.') + 1))) return AutocastPolicy::kNone;
  if (row.empty()) name = name.substr(name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1);
  if (info.row && info.row->rule && !dispatcher.all.contains(name)) return AutocastPolicy::kUnknown;
  return dispatcher.all.contains(name) && !dispatcher.touched.contains(name) ? AutocastPolicy::kNone
                                                                             : AutocastPolicy::kUnknown;
}

graph::Graph after_casts(const Call& call, AutocastPolicy policy, graph::DType lower) {
  graph::Graph seen;
  seen.values = call.graph.values;
  const graph::DType target = policy == AutocastPolicy::kFloat32 ? graph::DType::kFloat32 : lower;
  if (policy != AutocastPolicy::kLower && policy != AutocastPolicy::kFloat32) return seen;
  for (graph::ValueId id : call.operands) {
    graph::TensorMeta& m = seen.values[static_cast<size_t>(id)].meta;
    if (!graph::is_floating(m.dtype) || m.dtype == graph::DType::kFloat64 || m.dtype == target ||
        m.device != graph::DeviceKind::kCpu) {
      continue;
    }
    m.dtype = target;
    m.strides = graph::preserved_strides(m.sizes, m.strides);
    m.storage_offset = 0;
  }
  return seen;
}

}  // namespace breakline::torch
