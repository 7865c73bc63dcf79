// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/schedule/group_kernels.h"

#include <string>
#include <tuple>
#include <unordered_map>

#include "core/graph/op_table.h"
#include "core/schedule/loops.h"
#include "core/schedule/lower.h"

namespace breakline::schedule {
namespace {

using graph::Graph;
using graph::ValueId;

/// How a kernel steps through a tensor, over the loops' dims.
struct Walk {
  std::vector<int64_t> strides;
  int64_t offset = 0;
};

std::string name_of(const Graph& graph, const std::vector<int>& nodes) {
  constexpr size_t kMaxNamed = 4;
  std::string name;
  for (size_t i = 0; i < nodes.size() && i < kMaxNamed; ++i) {
    if (!name.empty()) name += '_';
    name += graph.nodes[static_cast<size_t>(nodes[i])].op->name;
  }
  return name;
}

/// One kernel of a group: its nodes over one box of the space.
class BoxLowering {
 public:
  BoxLowering(const Graph& graph, const NodeKinds& kinds, const std::vector<Place>& places,
              const Space& space, const Box& box)
      : graph_(graph), kinds_(kinds), places_(places), space_(space), box_(box), builder_(kernel_.insts) {}

  Kernel run(const std::vector<int>& nodes, bool tiles, std::vector<Storage>& storage) {
    for (const int node : nodes) {
      if (is_in_box(node)) kernel_.nodes.push_back(node);
    }
    for (const int node : kernel_.nodes) {
      builder_.set_node(node);
      inst_of_[output_of(node)] = lower(node);
    }
    for (const int node : kernel_.nodes) {
      if (storage[static_cast<size_t>(output_of(node))] != Storage::kNone) store(node);
    }
    if (kernel_.outputs.empty()) {
      // Nobody looks at the result; it is still computed, as the last node's value.
      storage[static_cast<size_t>(output_of(nodes.back()))] = Storage::kScratch;
      store(nodes.back());
    }
    drop_unused(kernel_);
    if (space_.rows) {
      RowSpace rows = *space_.rows;
      rows.shape = box_.size;
      make_row_loops(rows.dims(), rows.reduced, kernel_);
    } else {
      make_loops(box_.size, kernel_);
      if (tiles) make_tiles(kernel_);
    }
    return std::move(kernel_);
  }

 private:
  const graph::Value& value(ValueId id) const { return graph_.values[static_cast<size_t>(id)]; }
  ValueId output_of(int node) const { return graph_.nodes[static_cast<size_t>(node)].outputs[0]; }
  const std::vector<int64_t>& shape_of(int node) const { return value(output_of(node)).meta.sizes; }
  const Join& join_of(const Part& part) const { return *kinds_.join_of(part.join); }

  bool is_in_box(int node) const {
    const Part* part = space_.part_of(node);
    return !part || operand_in_box(join_of(*part)) == part->k;
  }
  /// The operand of a join that this box is a part of.
  size_t operand_in_box(const Join& join) const {
    size_t k = 0;
    while (join.begins[k + 1] <= box_.begin[join.dim]) ++k;
    return k;
  }

  /// A tensor with these strides over a node's own dims.
  Walk walk(std::vector<int64_t> strides, const Part* part) const {
    std::vector<int64_t> begin = box_.begin;
    if (part) {
      const Join& join = join_of(*part);
      begin[join.dim] -= join.begins[part->k];
      if (join.stacks) strides.insert(strides.begin() + static_cast<int64_t>(join.dim), 0);
    }
    Walk result;
    for (size_t d = 0; d < begin.size(); ++d) result.offset += begin[d] * strides[d];
    result.strides = space_.rows ? space_.rows->split_strides(std::move(strides)) : std::move(strides);
    return result;
  }

  /// Operand `k` of a node, of metadata `meta`, or (k < 0) its result.
  Walk walk_of(int node, int k, const graph::TensorMeta& meta) const {
    const Part* part = space_.part_of(node);
    if (part) return walk(broadcast_strides(meta.sizes, meta.strides, shape_of(node)), part);
    if (k >= 0 && kinds_.is_row(node))
      return walk(row_operand_strides(graph_, node, static_cast<size_t>(k), meta), nullptr);
    if (!is_result(graph_, kinds_, space_, node))
      return walk(broadcast_strides(meta.sizes, meta.strides, space_.shape), nullptr);
    const auto& own = shape_of(node);
    return walk(space_.rows->result_strides(own, broadcast_strides(meta.sizes, meta.strides, own)), nullptr);
  }

  int add_input(ValueId id, Walk walk) {
    const Place& place = places_[static_cast<size_t>(id)];
    kernel_.inputs.push_back(
        {place.value, value(id).meta.dtype, std::move(walk.strides), place.offset + walk.offset});
    return static_cast<int>(kernel_.inputs.size()) - 1;
  }
  int load(ValueId id, Walk walk) {
    const auto [at, fresh] = loads_.try_emplace({id, walk.offset, walk.strides}, -1);
    if (fresh) at->second = builder_.load(add_input(id, std::move(walk)), value(id).meta.dtype);
    return at->second;
  }

  int lower(int node) {
    if (const Gather* gather = kinds_.gather_of(node)) return lower_gather(node, *gather);
    if (const Join* join = kinds_.join_of(node)) return lower_join(node, *join);
    if (const Pool* pool = kinds_.pool_of(node)) return lower_windows(node, *pool);
    std::vector<int> operands;
    const auto& reads = kinds_.reads[static_cast<size_t>(node)];
    for (size_t k = 0; k < reads.size(); ++k) {
      const auto known = inst_of_.find(reads[k]);
      operands.push_back(known != inst_of_.end()
                             ? known->second
                             : load(reads[k], walk_of(node, static_cast<int>(k), value(reads[k]).meta)));
    }
    return kinds_.is_row(node) ? lower_row_node(graph_, node, operands, builder_)
                               : lower_node(graph_, node, operands, builder_);
  }

  int lower_gather(int node, const Gather& gather) {
    const Part* part = space_.part_of(node);
    const int index = lower_index(gather, load(gather.index, walk(gather.index_strides, part)), builder_);
    const int table = add_input(gather.table, walk(gather.table_strides, part));
    return builder_.load_at(table, value(gather.table).meta.dtype, index, gather.step);
  }

  int lower_join(int node, const Join& join) {
    const Part part{node, operand_in_box(join)};
    const ValueId id = join.operands[part.k];
    const auto known = inst_of_.find(id);
    const int from = known != inst_of_.end() ? known->second : load(id, walk(value(id).meta.strides, &part));
    return builder_.convert(from, value(output_of(node)).meta.dtype);
  }

  int lower_windows(int node, const Pool& pool) {
    const graph::TensorMeta& meta = value(pool.input).meta;
    std::vector<int64_t> strides = broadcast_strides(meta.sizes, meta.strides, meta.sizes);
    std::vector<int64_t> offsets{0};
    for (size_t i = 0; i < pool.windows.size(); ++i) {
      const size_t d = pool.first_dim + i;
      const Window& window = pool.windows[i];
      const Window::Taps range = window.taps(box_.begin[d]);
      std::vector<int64_t> finer;
      for (const int64_t offset : offsets) {
        for (int64_t tap = range.first; tap < range.last; ++tap)
          finer.push_back(offset + (tap * window.dilation - window.padding) * strides[d]);
      }
      offsets = std::move(finer);
      strides[d] *= window.stride;
    }
    std::vector<int> taps;
    for (const int64_t offset : offsets) {
      Walk tap = walk(strides, nullptr);
      tap.offset += offset;
      taps.push_back(load(pool.input, std::move(tap)));
    }
    return lower_pool(pool, box_.begin, taps, value(output_of(node)).meta.dtype, builder_);
  }

  void store(int node) {
    const ValueId id = output_of(node);
    const graph::TensorMeta& meta = value(id).meta;
    Walk where = walk_of(node, -1, meta);
    kernel_.outputs.push_back({{id, meta.dtype, std::move(where.strides), where.offset}, inst_of_[id]});
  }

  const Graph& graph_;
  const NodeKinds& kinds_;
  const std::vector<Place>& places_;
  const Space& space_;
  const Box& box_;
  Kernel kernel_;
  Builder builder_;
  std::unordered_map<ValueId, int> inst_of_;
  std::map<std::tuple<ValueId, int64_t, std::vector<int64_t>>, int> loads_;
};

}  // namespace

bool is_result(const Graph& graph, const NodeKinds& kinds, const Space& space, int node) {
  if (!space.rows || space.part_of(node)) return false;
  if (kinds.is_row(node)) return row_reduces(graph, node);
  const ValueId out = graph.nodes[static_cast<size_t>(node)].outputs[0];
  return graph.values[static_cast<size_t>(out)].meta.sizes != space.shape;
}

void lower_group(const Graph& graph, const NodeKinds& kinds, const std::vector<Place>& places,
                 const std::vector<int>& nodes, const Space& space, bool tiles, std::vector<Storage>& storage,
                 std::vector<Kernel>& kernels) {
  for (const Box& box : space.boxes()) {
    Kernel kernel = BoxLowering(graph, kinds, places, space, box).run(nodes, tiles, storage);
    kernel.name = name_of(graph, kernel.nodes) + "_" + std::to_string(kernels.size());
    kernels.push_back(std::move(kernel));
  }
}

}  // namespace breakline::schedule
