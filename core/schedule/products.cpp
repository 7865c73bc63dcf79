// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/products.h"

#include <algorithm>
#include <optional>

#include "core/graph/op_table.h"
#include "core/graph/walk.h"
#include "core/schedule/loops.h"
#include "core/schedule/order.h"

namespace breakline::schedule {
namespace {

using graph::Graph;
using graph::Node;
using graph::TensorMeta;
using graph::ValueId;
using Dims = std::vector<int64_t>;

/// How the operands of an op stand in its call.
struct Form {
  std::string_view op;
  int a, b, bias;  ///< positions; -1: none
  bool turned;     ///< b is given as [columns, inner]
};
constexpr Form kForms[] = {{"mm", 0, 1, -1, false},   {"bmm", 0, 1, -1, false},  {"matmul", 0, 1, -1, false},
                           {"linear", 0, 1, 2, true}, {"addmm", 1, 2, 0, false}, {"baddbmm", 1, 2, 0, false}};

const Form* form_of(const Node& node) {
  const auto* found = std::find_if(std::begin(kForms), std::end(kForms),
                                   [&](const Form& form) { return node.op && node.op->name == form.op; });
  return found == std::end(kForms) ? nullptr : found;
}

/// The call of packed weights, made by the cpu's linear pass: x, packed, weight, bias, rows.
constexpr std::string_view kPacked = "mkl_linear";
bool is_packed(const Node& node) {
  return node.op && node.op->name == kPacked && node.args.size() == 5 && node.kwargs.empty();
}

struct Call {
  ValueId a = graph::kNoValue, b = graph::kNoValue, bias = graph::kNoValue;
  double alpha = 1, beta = 1;
};

std::optional<double> number_of(const graph::Arg& arg) {
  if (const auto* number = std::get_if<double>(&arg.v)) return *number;
  if (const auto* number = std::get_if<int64_t>(&arg.v)) return static_cast<double>(*number);
  return {};
}

/// The operands, where the call has no others.
std::optional<Call> call_of(const Node& node, const Form& form) {
  Call call;
  const auto value = [&](int at) {
    const auto index = static_cast<size_t>(at);
    return index < node.args.size() && node.args[index].is_value() ? node.args[index].id() : graph::kNoValue;
  };
  const size_t most = form.bias < 0 ? 2 : 3;
  if (node.args.size() > most) return {};
  call.a = value(form.a);
  call.b = value(form.b);
  if (form.bias >= 0 && static_cast<size_t>(form.bias) < node.args.size() &&
      !node.args[static_cast<size_t>(form.bias)].is_none()) {
    call.bias = value(form.bias);
    if (call.bias == graph::kNoValue) return {};
  }
  for (const auto& [name, arg] : node.kwargs) {
    const auto number = number_of(arg);
    if (form.turned && name == "bias" && (arg.is_none() || arg.is_value())) {
      if (arg.is_value()) call.bias = arg.id();
    } else if (form.bias == 0 && name == "alpha" && number) {
      call.alpha = *number;
    } else if (form.bias == 0 && name == "beta" && number) {
      call.beta = *number;
    } else {
      return {};
    }
  }
  if (call.a == graph::kNoValue || call.b == graph::kNoValue) return {};
  if (form.bias == 0 && call.bias == graph::kNoValue) return {};
  if (node.reversed) std::swap(call.a, call.b);
  return call;
}

bool is_float(graph::DType dtype) {
  return dtype == graph::DType::kFloat32 || dtype == graph::DType::kFloat64 ||
         dtype == graph::DType::kBFloat16 || dtype == graph::DType::kFloat16;
}

/// Sizes and strides of one operand: leading dims, then those of the matrix.
struct Walk {
  Dims sizes, strides;
  size_t leading() const { return sizes.size() - 2; }
};

Walk walk_of(const TensorMeta& meta, bool turned) {
  Walk walk{meta.sizes, meta.strides};
  if (turned) {
    std::swap(walk.sizes[walk.leading()], walk.sizes[walk.leading() + 1]);
    std::swap(walk.strides[walk.leading()], walk.strides[walk.leading() + 1]);
  }
  return walk;
}

/// Dims [0, leading] of a tensor as one; nothing where the memory does not allow it.
std::optional<Walk> rows_together(const Walk& walk) {
  int64_t rows = 1, stride = 0;
  for (size_t d = walk.leading() + 1; d-- > 0;) {
    if (walk.sizes[d] == 1) continue;
    if (rows == 1) {
      stride = walk.strides[d];
    } else if (walk.strides[d] != stride * rows) {
      return {};
    }
    rows *= walk.sizes[d];
  }
  const int64_t columns = walk.sizes.back();
  if (rows == 1) stride = columns * std::max<int64_t>(walk.strides.back(), 1);
  return Walk{{rows, columns}, {stride, walk.strides.back()}};
}

/// The leading dims of all three operands, as few as they can be.
struct Stack {
  Dims sizes;
  Dims out, a, b;  ///< strides
};

Stack stack_of(const Walk& out, const Walk& a, const Walk& b) {
  const Dims all(out.sizes.begin(), out.sizes.end() - 2);
  const auto over = [&](const Walk& walk) {
    return broadcast_strides({walk.sizes.begin(), walk.sizes.end() - 2},
                             {walk.strides.begin(), walk.strides.end() - 2}, all);
  };
  const Dims so = over(out), sa = over(a), sb = over(b);
  Stack stack;
  for (size_t d = 0; d < all.size(); ++d) {
    if (all[d] == 1) continue;
    const auto continues = [&](const Dims& strides, const Dims& made) {
      return made.back() == strides[d] * all[d];
    };
    if (!stack.sizes.empty() && continues(so, stack.out) && continues(sa, stack.a) &&
        continues(sb, stack.b)) {
      stack.sizes.back() *= all[d];
      stack.out.back() = so[d];
      stack.a.back() = sa[d];
      stack.b.back() = sb[d];
    } else {
      stack.sizes.push_back(all[d]);
      stack.out.push_back(so[d]);
      stack.a.push_back(sa[d]);
      stack.b.push_back(sb[d]);
    }
  }
  return stack;
}

/// The parts of a stack whose last dim is the batch of one call.
constexpr int64_t kMostParts = 64;

struct Shapes {
  Walk out, a, b;
  std::vector<Product::Part> parts;
};

std::optional<Shapes> shapes_of(const TensorMeta& out_meta, const TensorMeta& a_meta,
                                const TensorMeta& b_meta, const Form& form) {
  Walk out = walk_of(out_meta, false), a = walk_of(a_meta, false), b = walk_of(b_meta, form.turned);
  if (b.leading() == 0 && a.leading() > 0) {
    auto rows = rows_together(a), results = rows_together(out);
    if (rows && results) {
      a = *rows;
      out = *results;
    }
  }
  if (a.sizes.back() != b.sizes[b.leading()] || out.leading() < std::max(a.leading(), b.leading())) return {};
  const Stack stack = stack_of(out, a, b);
  Shapes shapes{{}, {}, {}, {{}}};
  const auto matrix = [&](const Walk& walk, const Dims& strides) {
    Walk made{{walk.sizes.end() - 2, walk.sizes.end()}, {walk.strides.end() - 2, walk.strides.end()}};
    if (!stack.sizes.empty()) {
      made.sizes.insert(made.sizes.begin(), stack.sizes.back());
      made.strides.insert(made.strides.begin(), strides.back());
    }
    return made;
  };
  shapes.out = matrix(out, stack.out);
  shapes.a = matrix(a, stack.a);
  shapes.b = matrix(b, stack.b);
  for (size_t d = 0; d + 1 < stack.sizes.size(); ++d) {
    std::vector<Product::Part> more;
    if (static_cast<int64_t>(shapes.parts.size()) * stack.sizes[d] > kMostParts) return {};
    for (const Product::Part& part : shapes.parts) {
      for (int64_t i = 0; i < stack.sizes[d]; ++i)
        more.push_back({part.out + i * stack.out[d], part.a + i * stack.a[d], part.b + i * stack.b[d]});
    }
    shapes.parts = std::move(more);
  }
  return shapes;
}

std::string list(const Dims& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

std::string text_of(const Matrix& matrix) {
  return "v" + std::to_string(matrix.value) + list(matrix.sizes) + " strides " + list(matrix.strides) +
         (matrix.offset ? " offset " + std::to_string(matrix.offset) : "");
}

}  // namespace

int64_t Product::work() const {
  int64_t work = static_cast<int64_t>(parts.size()) * a.sizes.back();
  for (const int64_t size : out.sizes) work *= size;
  return work;
}

std::string why_not_product(const Graph& graph, int node_index) {
  const Node& node = graph.nodes[static_cast<size_t>(node_index)];
  if (is_packed(node)) {
    const TensorMeta& x = graph.values[static_cast<size_t>(node.args[0].id())].meta;
    return x.is_contiguous() && x.plain && x.dtype == graph::DType::kFloat32
               ? ""
               : "operands that a product over memory has not";
  }
  const Form* form = form_of(node);
  if (!form) return "not a matrix product";
  if (node.mutates || node.multi || node.outputs.size() != 1 || node.outputs[0] == graph::kNoValue)
    return "writes its operand";
  const auto call = call_of(node, *form);
  if (!call) return "operands that a product over memory has not";
  const auto value = [&](ValueId id) -> const graph::Value& { return graph.values[static_cast<size_t>(id)]; };
  const graph::DType dtype = value(node.outputs[0]).meta.dtype;
  for (const ValueId id : {node.outputs[0], call->a, call->b, call->bias}) {
    if (id == graph::kNoValue) continue;
    const graph::Value& v = value(id);
    if (v.is_scalar || !v.meta.plain || v.meta.device != graph::DeviceKind::kCpu || v.meta.dtype != dtype ||
        !is_float(dtype))
      return "operands that a product over memory has not";
    if (v.meta.numel() == 0) return "no elements";
    if (id != call->bias && v.meta.rank() < 2) return "a product with a vector";
  }
  const TensorMeta& out = value(node.outputs[0]).meta;
  if (out.strides != graph::contiguous_strides(out.sizes)) return "result with gaps";
  const auto shapes = shapes_of(out, value(call->a).meta, value(call->b).meta, *form);
  if (!shapes) return "operands that are no stacks of matrices";
  if (call->bias != graph::kNoValue) {
    const int64_t rank = value(call->bias).meta.rank();
    const bool one = shapes->parts.size() == 1;
    if (!one || (form->op == "baddbmm" ? shapes->out.sizes.size() != 3 || rank != 3
                                       : shapes->out.sizes.size() != 2 || rank > 2))
      return "a bias of another shape";
    if (form->turned && rank != 1) return "a bias of another shape";
  }
  return "";
}

std::vector<ValueId> product_operands(const Graph& graph, int node_index) {
  const Node& node = graph.nodes[static_cast<size_t>(node_index)];
  if (is_packed(node)) return argument_values(node);
  const Call call = *call_of(node, *form_of(node));
  std::vector<ValueId> operands = {call.a, call.b};
  if (call.bias != graph::kNoValue) operands.push_back(call.bias);
  return operands;
}

Product product_of(const Graph& graph, int node_index) {
  const Node& node = graph.nodes[static_cast<size_t>(node_index)];
  const auto meta = [&](ValueId id) -> const TensorMeta& {
    return graph.values[static_cast<size_t>(id)].meta;
  };
  if (is_packed(node)) {
    const ValueId x = node.args[0].id(), out = node.outputs[0];
    Product product{.node = node_index, .dtype = meta(out).dtype};
    product.out = {out, 0, meta(out).sizes, meta(out).strides};
    product.a = {x, 0, meta(x).sizes, meta(x).strides};
    product.packed = node.args[1].id();
    product.weight = node.args[2].id();
    if (node.args[3].is_value()) product.bias.value = node.args[3].id();
    product.rows = std::get<int64_t>(node.args[4].v);
    product.parts = {{}};
    return product;
  }
  const Form& form = *form_of(node);
  const Call call = *call_of(node, form);
  Shapes shapes = *shapes_of(meta(node.outputs[0]), meta(call.a), meta(call.b), form);
  Product product;
  product.node = node_index;
  product.dtype = meta(node.outputs[0]).dtype;
  product.out = {node.outputs[0], 0, std::move(shapes.out.sizes), std::move(shapes.out.strides)};
  product.a = {call.a, 0, std::move(shapes.a.sizes), std::move(shapes.a.strides)};
  product.b = {call.b, 0, std::move(shapes.b.sizes), std::move(shapes.b.strides)};
  if (call.bias != graph::kNoValue)
    product.bias = {call.bias, 0, meta(call.bias).sizes, meta(call.bias).strides};
  product.alpha = call.alpha;
  product.beta = call.beta;
  product.parts = std::move(shapes.parts);
  return product;
}

bool makes_tensor(const Graph& graph, int node) { return is_packed(graph.nodes[static_cast<size_t>(node)]); }

std::string print(const Product& product) {
  std::string text = text_of(product.out) + " <- " + text_of(product.a) + " @ " +
                     (product.is_packed() ? "packed v" + std::to_string(product.packed) : text_of(product.b));
  if (product.has_bias()) text += " + " + text_of(product.bias);
  if (product.parts.size() > 1) text += " x" + std::to_string(product.parts.size());
  return text;
}

}  // namespace breakline::schedule
