// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/vulkan/device_ops.h"

#include <algorithm>
#include <optional>

#include "core/graph/op_table.h"

namespace breakline::vulkan {
namespace {

using graph::Arg;
using graph::DType;
using graph::Graph;
using graph::Node;
using graph::TensorMeta;
using graph::ValueId;

/// Reads a node's operands by position or keyword.
class Call {
 public:
  Call(const Graph& graph, int index) : graph_(graph), node_(graph.nodes[static_cast<size_t>(index)]) {}
  const Arg* get(size_t position, std::string_view name) const {
    if (position < node_.args.size()) return &node_.args[position];
    for (const auto& [key, arg] : node_.kwargs) {
      if (key == name) return &arg;
    }
    return nullptr;
  }
  bool is_set(size_t position, std::string_view name) const {
    const Arg* arg = get(position, name);
    return arg && !arg->is_none();
  }
  const Arg* keyword(std::string_view name) const { return get(SIZE_MAX, name); }
  /// A tensor operand that kernels can read as float32, else kNoValue.
  ValueId tensor(size_t position, std::string_view name) const {
    const Arg* arg = get(position, name);
    if (!arg || !arg->is_value()) return graph::kNoValue;
    const graph::Value& value = graph_.values[static_cast<size_t>(arg->id())];
    if (value.is_scalar || value.meta.dtype != DType::kFloat32) return graph::kNoValue;
    return arg->id();
  }
  std::optional<int64_t> integer(size_t position, std::string_view name) const {
    const Arg* arg = get(position, name);
    if (!arg) return std::nullopt;
    if (const auto* n = std::get_if<int64_t>(&arg->v)) return *n;
    return std::nullopt;
  }
  /// A Python number, `otherwise` when absent; nothing for anything else.
  std::optional<double> number(size_t position, std::string_view name, double otherwise) const {
    const Arg* arg = get(position, name);
    if (!arg) return otherwise;
    if (const auto* n = std::get_if<int64_t>(&arg->v)) return static_cast<double>(*n);
    if (const auto* d = std::get_if<double>(&arg->v)) return *d;
    return std::nullopt;
  }
  bool flag(size_t position, std::string_view name) const {
    const Arg* arg = get(position, name);
    const bool* b = arg ? std::get_if<bool>(&arg->v) : nullptr;
    return b && *b;
  }
  /// dtype= absent, None or float32.
  bool dtype_is_float32(size_t position, std::string_view name) const {
    const Arg* arg = get(position, name);
    if (!arg || arg->is_none()) return true;
    const auto* dtype = std::get_if<graph::DTypeArg>(&arg->v);
    return dtype && dtype->dtype == DType::kFloat32;
  }
  const TensorMeta& meta(ValueId id) const { return graph_.values[static_cast<size_t>(id)].meta; }
  ValueId output() const { return node_.outputs[0]; }
  const Node& node() const { return node_; }

 private:
  const Graph& graph_;
  const Node& node_;
};

/// One dim as strided loops see it.
struct Dim {
  int64_t size = 1, stride = 0;
};

/// Dims [from, to) of a tensor as one, if their elements are evenly spaced in row-major order.
std::optional<Dim> merged(const TensorMeta& meta, int64_t from, int64_t to) {
  Dim out;
  bool first = true;
  for (int64_t d = to - 1; d >= from; d--) {
    int64_t size = meta.sizes[static_cast<size_t>(d)], stride = meta.strides[static_cast<size_t>(d)];
    if (size == 1) continue;
    if (first) {
      out = {size, stride};
      first = false;
    } else if (stride == out.size * out.stride) {
      out.size *= size;
    } else {
      return std::nullopt;
    }
  }
  return out;
}

Error no(std::string why) { return Error{std::move(why)}; }

Result<NodeKernel> finish_matmul(const Call& call, MatmulShape s, ValueId a, ValueId b, ValueId bias,
                                 const OffsetOf& offset_of, const DeviceTraits& traits) {
  if (s.k == 0) return no("empty tensors");
  // The tiled variant makes up to two iterations per step of k, counting those that load the tiles.
  if (2 * s.k > traits.loop_limit) return no("sums too long for the software device");
  s.a_aligned = offset_of(a) % 4 == 0;
  s.b_aligned = offset_of(b) % 4 == 0;
  NodeKernel kernel;
  kernel.text = emit_matmul(s, traits);
  kernel.operands = {a, b};
  if (s.bias) kernel.operands.push_back(bias);
  kernel.operands.push_back(call.output());
  return kernel;
}

/// Stride of the last `dims` sizes of a bias that broadcasts to the output; false when it doesn't.
bool bias_strides(const TensorMeta& bias, const TensorMeta& out, MatmulShape* s) {
  int64_t rank = bias.rank(), shift = out.rank() - rank;
  if (shift < 0) return false;
  std::vector<int64_t> strides(static_cast<size_t>(out.rank()), 0);
  for (int64_t d = 0; d < rank; d++) {
    auto i = static_cast<size_t>(d), o = static_cast<size_t>(d + shift);
    if (bias.sizes[i] == out.sizes[o]) {
      strides[o] = bias.sizes[i] == 1 ? 0 : bias.strides[i];
    } else if (bias.sizes[i] != 1) {
      return false;
    }
  }
  size_t r = strides.size();
  s->bias = true;
  s->bias_n = strides[r - 1];
  s->bias_m = r >= 2 ? strides[r - 2] : 0;
  s->bias_batch = r == 3 ? strides[0] : 0;
  return r <= 3;
}

/// x[…, k] times weight[n, k] transposed.
Result<NodeKernel> linear(const Call& call, const OffsetOf& offset_of, const DeviceTraits& traits) {
  ValueId x = call.tensor(0, "input"), w = call.tensor(1, "weight"), bias = graph::kNoValue;
  if (x == graph::kNoValue || w == graph::kNoValue) return no("not float32");
  if (call.is_set(2, "bias")) {
    bias = call.tensor(2, "bias");
    if (bias == graph::kNoValue) return no("not float32");
  }
  const TensorMeta &mx = call.meta(x), &mw = call.meta(w), &mo = call.meta(call.output());
  if (mx.rank() < 1 || mw.rank() != 2 || mo.rank() != mx.rank()) return no("an unusual shape");
  int64_t last = mx.rank() - 1;
  auto rows = merged(mx, 0, last), out_rows = merged(mo, 0, last);
  if (!rows || !out_rows) return no("unevenly spaced rows");
  MatmulShape s;
  s.m = rows->size;
  s.n = mw.sizes[0];
  s.k = mw.sizes[1];
  s.a_m = rows->stride;
  s.a_k = mx.strides.back();
  s.b_k = mw.strides[1];
  s.b_n = mw.strides[0];
  s.out_m = out_rows->stride;
  s.out_n = mo.strides.back();
  if (bias != graph::kNoValue) {
    if (call.meta(bias).rank() != 1) return no("an unusual bias");
    s.bias = true;
    s.bias_n = call.meta(bias).strides[0];
  }
  return finish_matmul(call, s, x, w, bias, offset_of, traits);
}

/// Products of matrices and of equal batches of matrices; vectors count as matrices of one row or column.
Result<NodeKernel> product(const Call& call, ValueId a, ValueId b, ValueId bias, double alpha, double beta,
                           const OffsetOf& offset_of, const DeviceTraits& traits) {
  if (a == graph::kNoValue || b == graph::kNoValue) return no("not float32");
  const TensorMeta &ma = call.meta(a), &mb = call.meta(b), &mo = call.meta(call.output());
  if (ma.rank() < 1 || mb.rank() < 1) return no("an unusual shape");
  MatmulShape s;
  s.alpha = alpha;
  s.beta = beta;
  s.k = ma.sizes.back();
  s.a_k = ma.strides.back();
  bool a_vector = ma.rank() == 1, b_vector = mb.rank() == 1;
  s.b_k = b_vector ? mb.strides[0] : mb.strides[static_cast<size_t>(mb.rank() - 2)];
  s.n = b_vector ? 1 : mb.sizes.back();
  s.b_n = b_vector ? 0 : mb.strides.back();
  // Dims of the output: batch…, then m unless a is a vector, then n unless b is one.
  int64_t out_rank = mo.rank(), kept = (a_vector ? 0 : 1) + (b_vector ? 0 : 1), out_batch = out_rank - kept;
  if (!a_vector) {
    s.m = ma.sizes[static_cast<size_t>(ma.rank() - 2)];
    s.a_m = ma.strides[static_cast<size_t>(ma.rank() - 2)];
    s.out_m = mo.strides[static_cast<size_t>(out_batch)];
  }
  if (!b_vector) s.out_n = mo.strides.back();
  int64_t a_batch = std::max<int64_t>(ma.rank() - 2, 0), b_batch = std::max<int64_t>(mb.rank() - 2, 0);
  if (out_batch < 0) return no("an unusual shape");
  if (out_batch > 0 && b_batch == 0 && !a_vector) {
    // One matrix for all: the batch is just more rows.
    auto rows = merged(ma, 0, ma.rank() - 1);
    auto out_rows = merged(mo, 0, b_vector ? out_rank : out_rank - 1);
    if (!rows || !out_rows) return no("unevenly spaced rows");
    s.m = rows->size;
    s.a_m = rows->stride;
    s.out_m = out_rows->stride;
  } else if (out_batch > 0) {
    auto batch = merged(mo, 0, out_batch);
    std::optional<Dim> in_a = a_batch ? merged(ma, 0, a_batch) : Dim{},
                       in_b = b_batch ? merged(mb, 0, b_batch) : Dim{};
    if (!batch || !in_a || !in_b) return no("unevenly spaced batches");
    // A batch of one broadcasts; anything between would need an index per dim.
    for (const auto& in : {in_a, in_b}) {
      if (in->size != 1 && in->size != batch->size) return no("partly broadcast batches");
    }
    s.batch = batch->size;
    s.out_batch = batch->stride;
    s.a_batch = in_a->stride;
    s.b_batch = in_b->stride;
  }
  if (bias != graph::kNoValue && !bias_strides(call.meta(bias), mo, &s)) return no("an unusual bias");
  return finish_matmul(call, s, a, b, bias, offset_of, traits);
}

Result<NodeKernel> matmul(const Call& call, const OffsetOf& offset_of, const DeviceTraits& traits) {
  ValueId a = call.tensor(0, "input"), b = call.tensor(1, "other");
  if (b == graph::kNoValue) b = call.tensor(1, "mat2");
  if (b == graph::kNoValue) b = call.tensor(1, "vec");
  return product(call, a, b, graph::kNoValue, 1, 1, offset_of, traits);
}

/// beta * input + alpha * (a @ b)
Result<NodeKernel> addmm(const Call& call, const OffsetOf& offset_of, const DeviceTraits& traits) {
  bool batched = call.node().op->name == "baddbmm";
  if (call.node().args.size() > 3) return no("an old form of the call");
  ValueId bias = call.tensor(0, "input");
  ValueId a = call.tensor(1, batched ? "batch1" : "mat1"), b = call.tensor(2, batched ? "batch2" : "mat2");
  auto alpha = call.number(SIZE_MAX, "alpha", 1), beta = call.number(SIZE_MAX, "beta", 1);
  if (bias == graph::kNoValue) return no("not float32");
  if (!alpha || !beta) return no("a factor that changes between calls");
  if (*beta == 0) bias = graph::kNoValue;  // then NaN and inf of the input don't count
  return product(call, a, b, bias, *alpha, *beta, offset_of, traits);
}

/// Splits the dims of `in` into those in `reduced` and the rest, for the row kernels. Size-1 dims are left
/// out.
void split_rows(const TensorMeta& in, const std::vector<bool>& reduced, RowShape* s) {
  for (int64_t d = 0; d < in.rank(); d++) {
    auto i = static_cast<size_t>(d);
    if (in.sizes[i] == 1) continue;
    auto& sizes = reduced[i] ? s->inner : s->outer;
    auto& strides = reduced[i] ? s->in_inner : s->in_strides;
    sizes.push_back(in.sizes[i]);
    strides.push_back(in.strides[i]);
  }
}

int64_t wrap_dim(int64_t dim, int64_t rank) { return dim < 0 ? dim + rank : dim; }

Result<NodeKernel> softmax(const Call& call, RowShape::Kind kind, const DeviceTraits& traits) {
  ValueId x = call.tensor(0, "input");
  if (x == graph::kNoValue) return no("not float32");
  if (!call.dtype_is_float32(2, "dtype")) return no("a dtype of its own");
  auto dim = call.integer(1, "dim");
  if (!dim) return no("no dim");
  const TensorMeta &in = call.meta(x), &out = call.meta(call.output());
  if (in.sizes != out.sizes || in.rank() == 0) return no("an unusual shape");
  RowShape s;
  s.kind = kind;
  std::vector<bool> reduced(in.sizes.size(), false);
  reduced[static_cast<size_t>(wrap_dim(*dim, in.rank()))] = true;
  split_rows(in, reduced, &s);
  RowShape o;
  split_rows(out, reduced, &o);
  s.out_strides = o.in_strides;
  s.out_inner = o.in_inner;
  auto text = emit_rows(s, traits);
  if (!text) return text.error();
  return NodeKernel{*text, {x, call.output()}};
}

Result<NodeKernel> layer_norm(const Call& call, const DeviceTraits& traits) {
  ValueId x = call.tensor(0, "input");
  if (x == graph::kNoValue) return no("not float32");
  const Arg* shape = call.get(1, "normalized_shape");
  const graph::ArgSeq* dims = shape ? shape->seq() : nullptr;
  if (!dims || dims->items.empty()) return no("an unusual shape");
  const TensorMeta &in = call.meta(x), &out = call.meta(call.output());
  auto count = static_cast<int64_t>(dims->items.size());
  if (count > in.rank() || in.sizes != out.sizes) return no("an unusual shape");
  RowShape s;
  s.kind = RowShape::kLayerNorm;
  std::vector<bool> reduced(in.sizes.size(), false);
  for (int64_t d = in.rank() - count; d < in.rank(); d++) reduced[static_cast<size_t>(d)] = true;
  split_rows(in, reduced, &s);
  RowShape o;
  split_rows(out, reduced, &o);
  s.out_strides = o.in_strides;
  s.out_inner = o.in_inner;
  NodeKernel kernel;
  kernel.operands = {x};
  struct {
    size_t position;
    const char* name;
    bool* used;
  } optional[] = {{2, "weight", &s.weight}, {3, "bias", &s.bias}};
  for (auto& option : optional) {
    if (!call.is_set(option.position, option.name)) continue;
    ValueId id = call.tensor(option.position, option.name);
    if (id == graph::kNoValue || !call.meta(id).is_contiguous()) return no("unusual weights");
    *option.used = true;
    kernel.operands.push_back(id);
  }
  auto eps = call.number(4, "eps", 1e-5);
  if (!eps) return no("an eps that changes between calls");
  s.eps = *eps;
  auto text = emit_rows(s, traits);
  if (!text) return text.error();
  kernel.text = *text;
  kernel.operands.push_back(call.output());
  return kernel;
}

Result<NodeKernel> reduce(const Call& call, RowShape::Kind kind, const DeviceTraits& traits) {
  ValueId x = call.tensor(0, "input");
  if (x == graph::kNoValue) return no("not float32");
  if (!call.dtype_is_float32(SIZE_MAX, "dtype") || call.keyword("out")) return no("a dtype of its own");
  const TensorMeta &in = call.meta(x), &out = call.meta(call.output());
  std::vector<bool> reduced(in.sizes.size(), false);
  const Arg* dim = call.get(1, "dim");
  size_t named = 0;
  auto add = [&](int64_t d) {
    reduced[static_cast<size_t>(wrap_dim(d, in.rank()))] = true;
    named++;
  };
  if (dim && !dim->is_none()) {
    if (const auto* one = std::get_if<int64_t>(&dim->v)) {
      if (in.rank() > 0) add(*one);
    } else if (const graph::ArgSeq* many = dim->seq()) {
      for (const Arg& item : many->items) {
        const auto* d = std::get_if<int64_t>(&item.v);
        if (!d) return no("a dim that changes between calls");
        if (in.rank() > 0) add(*d);
      }
    } else {
      return no("unusual dims");
    }
  }
  if (named == 0) reduced.assign(in.sizes.size(), true);
  RowShape s;
  s.kind = kind;
  split_rows(in, reduced, &s);
  // The output's dims that are kept, with or without the reduced ones between them.
  bool keeps = out.rank() == in.rank();
  size_t o = 0;
  for (size_t d = 0; d < in.sizes.size(); d++) {
    if (reduced[d] && !keeps) continue;
    if (o >= out.sizes.size() || (!reduced[d] && out.sizes[o] != in.sizes[d])) return no("an unusual shape");
    if (!reduced[d] && in.sizes[d] != 1) s.out_strides.push_back(out.strides[o]);
    o++;
  }
  if (o != out.sizes.size()) return no("an unusual shape");
  auto text = emit_rows(s, traits);
  if (!text) return text.error();
  return NodeKernel{*text, {x, call.output()}};
}

}  // namespace

int64_t extent(const TensorMeta& meta) {
  int64_t last = 0;
  for (size_t d = 0; d < meta.sizes.size(); d++) {
    if (meta.sizes[d] == 0) return 0;
    last += (meta.sizes[d] - 1) * meta.strides[d];
  }
  return last + 1;
}

bool is_dense(const TensorMeta& meta) {
  return extent(meta) == meta.numel() &&
         std::all_of(meta.strides.begin(), meta.strides.end(), [](int64_t s) { return s >= 0; });
}

Result<NodeKernel> node_kernel(const Graph& graph, int index, const OffsetOf& offset_of,
                               const DeviceTraits& traits) {
  Call call(graph, index);
  const Node& node = call.node();
  if (!node.op) return no("no shader");
  if (node.mutates || node.random || node.ambient) return no("it changes state");
  if (node.multi || node.outputs.size() != 1 || node.outputs[0] == graph::kNoValue)
    return no("several results");
  if (call.keyword("out")) return no("it writes its operand");
  std::string_view method = node.name;
  if (size_t dot = method.rfind('.'); dot != std::string_view::npos) method.remove_prefix(dot + 1);
  if (graph::find_op(method).reversed) return no("a reversed form");
  const TensorMeta& out = call.meta(call.output());
  if (out.dtype != DType::kFloat32) return no("no " + std::string(graph::dtype_name(out.dtype)) + " shader");
  if (out.numel() == 0 || !is_dense(out)) return no("an empty or gapped result");
  for (const Arg& arg : node.args) {
    if (arg.is_value() && call.meta(arg.id()).numel() == 0) return no("empty tensors");
  }
  std::string_view name = node.op->name;
  if (name == "linear") return linear(call, offset_of, traits);
  if (name == "mm" || name == "bmm" || name == "matmul" || name == "mv" || name == "dot") {
    return matmul(call, offset_of, traits);
  }
  if (name == "addmm" || name == "baddbmm") return addmm(call, offset_of, traits);
  if (name == "softmax") return softmax(call, RowShape::kSoftmax, traits);
  if (name == "log_softmax") return softmax(call, RowShape::kLogSoftmax, traits);
  if (name == "layer_norm") return layer_norm(call, traits);
  if (name == "sum") return reduce(call, RowShape::kSum, traits);
  if (name == "mean") return reduce(call, RowShape::kMean, traits);
  if (name == "amax") return reduce(call, RowShape::kMax, traits);
  if (name == "amin") return reduce(call, RowShape::kMin, traits);
  return no("no shader");
}

}  // namespace breakline::vulkan
