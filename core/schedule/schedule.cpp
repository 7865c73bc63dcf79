// SPDX-License-Identifier: GPL-3.0-or-later
// Groups, kernels and their order:
// 1. each node is asked whether it can be part of a kernel;
// 2. in program order each such node joins the groups of its producers that work over the same
// space, where that keeps an order;
// 3. groups that are too small go back to being extern nodes;
// 4. kernels are lowered; only values used outside of their group are stored;
// 5. units are sorted, the one that ends first in the program first.
#include "core/schedule/schedule.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <set>
#include <unordered_map>

#include "core/graph/op_table.h"
#include "core/schedule/group_kernels.h"
#include "core/schedule/groups.h"
#include "core/schedule/loops.h"
#include "core/schedule/lower.h"
#include "core/schedule/order.h"
#include "core/schedule/rows.h"

namespace breakline::schedule {
namespace {

using graph::Graph;
using graph::ValueId;

class Scheduler {
 public:
  Scheduler(const Graph& graph, const Options& options) : graph_(graph), options_(options) {}

  Schedule run() {
    classify();
    find_products();
    before_ = dependencies(graph_, kinds_.reads);
    find_users();
    group();
    elide_views();
    classify_storage();
    for (size_t g = 0; g < groups_.size(); ++g) {
      first_kernel_.push_back(result_.kernels.size());
      lower_group(graph_, kinds_, places_, groups_[g], group_spaces_[g], options_.tiles, result_.storage,
                  result_.kernels);
    }
    first_kernel_.push_back(result_.kernels.size());
    place_products();
    sort();
    find_deaths();
    for (int& kernel : result_.kernel_of) {
      if (kernel >= 0) kernel = static_cast<int>(first_kernel_[static_cast<size_t>(kernel)]);
    }
    return std::move(result_);
  }

 private:
  size_t count() const { return graph_.nodes.size(); }
  const std::vector<int64_t>& shape_of(int node) const {
    return value(graph_.nodes[static_cast<size_t>(node)].outputs[0]).meta.sizes;
  }
  const graph::Value& value(ValueId id) const { return graph_.values[static_cast<size_t>(id)]; }

  void classify() {
    result_.extern_why.resize(count());
    result_.kernel_of.assign(count(), -1);
    kinds_.reads.resize(count());
    for (size_t n = 0; n < count(); ++n) {
      const int node = static_cast<int>(n);
      std::string& why = result_.extern_why[n];
      why = why_not_pointwise(graph_, node);
      if (!why.empty() && options_.rows && why_not_row(graph_, node).empty()) {
        kinds_.rows.insert(node);
        why.clear();
      }
      std::string reason;
      if (!why.empty() && options_.gathers) {
        if (auto gather = find_gather(graph_, node, &reason)) {
          kinds_.gathers.emplace(node, std::move(*gather));
          why.clear();
        }
      }
      if (!why.empty() && options_.joins) {
        if (auto join = find_join(graph_, node, &reason)) {
          kinds_.joins.emplace(node, std::move(*join));
          why.clear();
        }
      }
      if (!why.empty() && options_.pools) {
        if (auto pool = find_pool(graph_, node, &reason)) {
          kinds_.pools.emplace(node, std::move(*pool));
          why.clear();
        }
      }
      if (why.empty()) {
        const graph::TensorMeta& out = value(graph_.nodes[n].outputs[0]).meta;
        if (!is_dense(out.sizes, out.strides)) why = "result with gaps";
      }
      if (why.empty() && options_.unsupported_types) why = unsupported(node);
      if (why.empty()) {
        kinds_.reads[n] = operands_of(node);
      } else {
        kinds_.rows.erase(node);
        kinds_.gathers.erase(node);
        kinds_.joins.erase(node);
        kinds_.pools.erase(node);
        kinds_.reads[n] = argument_values(graph_.nodes[n]);
      }
    }
  }

  void find_products() {
    product_of_.assign(count(), -1);
    const bool ambient = std::any_of(graph_.nodes.begin(), graph_.nodes.end(),
                                     [](const graph::Node& node) { return node.ambient; });
    if (!options_.products || ambient || graph_.reshapes || graph_.in_order) return;
    for (size_t n = 0; n < count(); ++n) {
      const int node = static_cast<int>(n);
      if (result_.extern_why[n].empty() || !why_not_product(graph_, node).empty()) continue;
      if (makes_tensor(graph_, node) && !options_.packed_products) continue;
      result_.extern_why[n] = "a product over memory";
      kinds_.reads[n] = product_operands(graph_, node);
      product_of_[n] = static_cast<int>(result_.products.size());
      result_.products.push_back(product_of(graph_, node));
    }
  }
  /// Views that are not made are read where they lie.
  void place_products() {
    for (Product& product : result_.products) {
      for (Matrix* matrix : {&product.a, &product.b, &product.bias}) {
        if (matrix->value == graph::kNoValue || (product.is_packed() && matrix != &product.a)) continue;
        const Place& place = places_[static_cast<size_t>(matrix->value)];
        matrix->value = place.value;
        matrix->offset = place.offset;
      }
    }
  }
  /// Reads and writes memory, not tensors. A gather's operands are tensors all the same.
  bool by_memory(int node) const {
    return result_.kernel_of[static_cast<size_t>(node)] >= 0 || product_of_[static_cast<size_t>(node)] >= 0;
  }

  std::vector<ValueId> operands_of(int node) const {
    if (const Gather* gather = kinds_.gather_of(node)) return {gather->index, gather->table};
    if (const Join* join = kinds_.join_of(node)) return join->operands;
    if (const Pool* pool = kinds_.pool_of(node)) return {pool->input};
    return kinds_.is_row(node) ? row_operands(graph_, node) : pointwise_operands(graph_, node);
  }

  /// A pointwise node lowered alone.
  std::vector<Inst> insts_of(int node) const {
    std::vector<Inst> insts;
    Builder builder(insts);
    std::vector<int> operands;
    for (const ValueId id : pointwise_operands(graph_, node)) {
      operands.push_back(builder.load(static_cast<int>(operands.size()), value(id).meta.dtype));
    }
    lower_node(graph_, node, operands, builder);
    return insts;
  }
  /// Which register types the node needs that the target has not.
  std::string unsupported(int node) const {
    for (const Inst& inst : insts_of(node)) {
      if (options_.unsupported_types & (1u << static_cast<unsigned>(inst.type))) {
        return "the target has no " + std::string(reg_type_name(inst.type));
      }
    }
    return "";
  }

  void find_users() {
    users_.resize(graph_.values.size());
    is_output_.assign(graph_.values.size(), false);
    for (size_t n = 0; n < count(); ++n) {
      for (const ValueId id : kinds_.reads[n]) users_[static_cast<size_t>(id)].push_back(static_cast<int>(n));
    }
    for (const ValueId id : graph_.outputs) is_output_[static_cast<size_t>(id)] = true;
  }

  bool is_view(const graph::Node& node) const {
    if (!node.op || node.op->kind != graph::OpKind::kView || node.mutates || node.args.empty() ||
        !node.args[0].is_value())
      return false;
    const graph::Value& base = value(node.args[0].id());
    return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
      if (id == graph::kNoValue) return false;
      const graph::Value& view = value(id);
      return view.storage >= 0 && view.storage == base.storage && view.meta.dtype == base.meta.dtype &&
             view.meta.plain && base.meta.plain && !view.is_scalar && id != node.args[0].id();
    });
  }

  /// Views whose readers are kernels or products, or such views, need not be made: these read the tensor
  /// itself.
  void elide_views() {
    for (size_t v = 0; v < graph_.values.size(); ++v) places_.push_back({static_cast<ValueId>(v)});
    elided_.assign(count(), false);
    if (!options_.through_views || graph_.reshapes || graph_.in_order) return;
    for (size_t n = count(); n-- > 0;) {
      if (by_memory(static_cast<int>(n)) || !is_view(graph_.nodes[n])) continue;
      elided_[n] =
          std::all_of(graph_.nodes[n].outputs.begin(), graph_.nodes[n].outputs.end(), [&](ValueId id) {
            const auto& users = users_[static_cast<size_t>(id)];
            return !is_output_[static_cast<size_t>(id)] &&
                   std::all_of(users.begin(), users.end(), [&](int user) {
                     return (by_memory(user) && !kinds_.gather_of(user)) ||
                            elided_[static_cast<size_t>(user)];
                   });
          });
    }
    for (size_t n = 0; n < count(); ++n) {
      if (!elided_[n]) continue;
      const ValueId base = graph_.nodes[n].args[0].id();
      for (const ValueId id : graph_.nodes[n].outputs) {
        places_[static_cast<size_t>(id)] = places_[static_cast<size_t>(base)];
        places_[static_cast<size_t>(id)].offset +=
            value(id).meta.storage_offset - value(base).meta.storage_offset;
      }
      result_.extern_why[n] = "read in place";
    }
  }

  /// Buffers of a kernel over `nodes`: values read from outside and values needed outside.
  int buffers_of(const std::vector<int>& nodes) const {
    std::set<ValueId> buffers;
    int more = 0;  // each gather has the table for itself, each tap of a window is a buffer
    for (const int node : nodes) {
      more += kinds_.gather_of(node) != nullptr;
      if (const Pool* pool = kinds_.pool_of(node)) more += static_cast<int>(pool->tap_count());
      for (const ValueId id : kinds_.reads[static_cast<size_t>(node)]) {
        if (!made_in(id, nodes)) buffers.insert(id);
      }
      const ValueId out = graph_.nodes[static_cast<size_t>(node)].outputs[0];
      if (needed_outside(out, nodes)) buffers.insert(out);
    }
    return static_cast<int>(buffers.size()) + more;
  }
  bool made_in(ValueId id, const std::vector<int>& nodes) const {
    return std::binary_search(nodes.begin(), nodes.end(), static_cast<int>(value(id).producer));
  }
  bool needed_outside(ValueId id, const std::vector<int>& nodes) const {
    const auto& users = users_[static_cast<size_t>(id)];
    return is_output_[static_cast<size_t>(id)] || std::any_of(users.begin(), users.end(), [&](int user) {
             return !std::binary_search(nodes.begin(), nodes.end(), user);
           });
  }

  Space space_of(int node) const {
    if (const Join* join = kinds_.join_of(node)) return join_space(shape_of(node), *join);
    if (const Pool* pool = kinds_.pool_of(node)) return {shape_of(node), {}, pool->cuts, {}};
    if (!kinds_.is_row(node)) return {shape_of(node), {}, {}, {}};
    RowSpace rows = row_space(graph_, node);
    std::vector<int64_t> shape = rows.shape;
    return {std::move(shape), std::move(rows), {}, {}};
  }
  bool is_result(const Space& space, int node) const {
    return schedule::is_result(graph_, kinds_, space, node);
  }
  /// Who computes what: values go between nodes over the shape, between those of one part, and from a part to
  /// its operand of the join; gathers and windows read tensors.
  bool parts_fit(const Space& space, const std::vector<int>& nodes) const {
    return std::all_of(nodes.begin(), nodes.end(), [&](int node) {
      const Part* part = space.part_of(node);
      const bool walks = kinds_.join_of(node) || kinds_.pool_of(node), looks_up = kinds_.gather_of(node);
      if (part ? walks : (walks || looks_up) && shape_of(node) != space.shape) return false;
      const auto& reads = kinds_.reads[static_cast<size_t>(node)];
      for (size_t k = 0; k < reads.size(); ++k) {
        if (!made_in(reads[k], nodes)) continue;
        const Part* from = space.part_of(value(reads[k]).producer);
        const bool fits = kinds_.join_of(node)
                              ? from && *from == Part{node, k}
                              : (from == nullptr) == (part == nullptr) && (!part || *from == *part);
        if (!fits || looks_up || kinds_.pool_of(node)) return false;
      }
      return true;
    });
  }
  /// In a group, a value read by a node must be what the node's own walk of it gives.
  bool edges_fit(const Space& space, const std::vector<int>& nodes) const {
    if (!parts_fit(space, nodes)) return false;
    if (!space.rows) return true;
    for (const int node : nodes) {
      if (space.part_of(node) || kinds_.join_of(node)) continue;
      const bool result = is_result(space, node) && !kinds_.is_row(node);
      for (size_t k = 0; k < kinds_.reads[static_cast<size_t>(node)].size(); ++k) {
        const ValueId id = kinds_.reads[static_cast<size_t>(node)][k];
        if (!made_in(id, nodes)) continue;
        const int producer = value(id).producer;
        const auto& sizes = shape_of(producer);
        if (kinds_.is_row(node)) {
          if (k != 0 || is_result(space, producer) || sizes != space.shape) return false;
        } else if (result) {
          if (sizes != shape_of(node)) return false;
        } else if (is_result(space, producer)) {
          // Broadcast along the dims that are reduced, and only those.
          const auto& strides = value(id).meta.strides;
          if (broadcast_strides(sizes, strides, space.shape) != space.rows->result_strides(sizes, strides))
            return false;
        } else if (sizes != space.shape) {
          return false;
        }
      }
    }
    return true;
  }

  bool fits_together(const Grouper& grouper, int a, int b, const Space& space) const {
    constexpr size_t kMaxNodes = 64;
    std::vector<int> all = grouper.nodes(a);
    const std::vector<int>& more = grouper.nodes(b);
    all.insert(all.end(), more.begin(), more.end());
    std::sort(all.begin(), all.end());
    if (all.size() > kMaxNodes || buffers_of(all) > options_.max_buffers || !edges_fit(space, all))
      return false;
    // A node lowers to a handful of instructions; the exact number is not worth lowering for.
    return static_cast<int>(all.size()) * 6 <= options_.max_insts;
  }

  int weight_of(int node) const {
    if (const Gather* gather = kinds_.gather_of(node)) return gather->each ? 0 : 1;
    if (kinds_.pool_of(node)) return 2;
    return kinds_.is_row(node) ? row_weight(graph_, node) : 1;
  }
  int weight_of(const std::vector<int>& nodes) const {
    return std::accumulate(nodes.begin(), nodes.end(), 0,
                           [&](int weight, int node) { return weight + weight_of(node); });
  }
  /// Reads what a product made or makes what one reads, perhaps through views: as a kernel it needs no tensor
  /// for that.
  bool beside_product(const std::vector<int>& nodes) const {
    return std::any_of(nodes.begin(), nodes.end(), [&](int node) {
      const auto& reads = kinds_.reads[static_cast<size_t>(node)];
      return std::any_of(reads.begin(), reads.end(), [&](ValueId id) { return made_by_product(id); }) ||
             read_by_product(graph_.nodes[static_cast<size_t>(node)].outputs[0]);
    });
  }
  /// A result large enough to be worth a kernel for its memory, made by walking the operands as they lie.
  bool has_large_result(const std::vector<int>& nodes) const {
    return options_.large_result > 0 && gives_the_one_answer(nodes) &&
           std::any_of(nodes.begin(), nodes.end(), [&](int node) {
             const graph::TensorMeta& out = value(graph_.nodes[static_cast<size_t>(node)].outputs[0]).meta;
             const auto& reads = kinds_.reads[static_cast<size_t>(node)];
             return out.numel() * graph::item_size(out.dtype) >= options_.large_result &&
                    std::all_of(reads.begin(), reads.end(), [&](ValueId id) {
                      const graph::TensorMeta& meta = value(id).meta;
                      return meta.numel() < out.numel() || meta.strides == out.strides;
                    });
           });
  }
  /// Alone, an operation is to give PyTorch's result to the last bit.
  bool gives_the_one_answer(const std::vector<int>& nodes) const {
    return std::all_of(nodes.begin(), nodes.end(), [&](int node) {
      if (kinds_.is_row(node)) return false;
      if (kinds_.gather_of(node) || kinds_.join_of(node) || kinds_.pool_of(node)) return true;
      const std::vector<Inst> insts = insts_of(node);
      return std::all_of(insts.begin(), insts.end(), [](const Inst& inst) { return is_exact(inst.op); });
    });
  }
  bool made_by_product(ValueId id) const {
    const int producer = value(id).producer;
    if (producer < 0) return false;
    if (product_of_[static_cast<size_t>(producer)] >= 0) return true;
    const graph::Node& node = graph_.nodes[static_cast<size_t>(producer)];
    return is_view(node) && made_by_product(node.args[0].id());
  }
  bool read_by_product(ValueId id) const {
    const auto& users = users_[static_cast<size_t>(id)];
    return std::any_of(users.begin(), users.end(), [&](int user) {
      if (product_of_[static_cast<size_t>(user)] >= 0) return true;
      const graph::Node& node = graph_.nodes[static_cast<size_t>(user)];
      return is_view(node) && read_by_product(node.outputs[0]);
    });
  }
  /// A reduction to a few numbers keeps one thread busy and the others waiting.
  bool wastes_threads(const Space& space) const {
    constexpr int64_t kFew = 4, kLarge = 1 << 15;
    if (!space.rows || options_.threads < 2) return false;
    const std::vector<int64_t> dims = space.rows->dims();
    int64_t units = 1, all = 1;
    for (size_t d = 0; d < dims.size(); ++d) {
      all *= dims[d];
      units *= space.rows->reduced[d] ? 1 : dims[d];
    }
    return units < kFew && all > kLarge;
  }

  void group() {
    Grouper grouper(before_);
    std::unordered_map<int, Space> spaces;  // per unit
    for (size_t n = 0; n < count(); ++n) {
      const int node = static_cast<int>(n);
      int unit = grouper.add(node);
      if (!result_.extern_why[n].empty()) continue;
      spaces[unit] = space_of(node);
      if (!options_.fuse || kinds_.gather_of(node) || kinds_.pool_of(node)) continue;
      for (size_t k = 0; k < kinds_.reads[n].size(); ++k) {
        const int producer = value(kinds_.reads[n][k]).producer;
        if (producer < 0 || !result_.extern_why[static_cast<size_t>(producer)].empty()) continue;
        const int other = grouper.unit_of(producer);
        if (other == unit) continue;
        const Join* join = kinds_.join_of(node);
        const auto space =
            join ? joined_as_part(spaces[unit], node, *join, k, spaces[other], grouper.nodes(other))
                 : joined(spaces[unit], spaces[other]);
        if (!space || wastes_threads(*space) || !fits_together(grouper, unit, other, *space)) continue;
        const int both = grouper.join(unit, other);
        if (both < 0) continue;
        unit = both;
        spaces[unit] = *space;
      }
    }
    std::vector<bool> done(count(), false);
    for (size_t n = 0; n < count(); ++n) {
      if (!result_.extern_why[n].empty() || done[n]) continue;
      const int unit = grouper.unit_of(static_cast<int>(n));
      const std::vector<int>& nodes = grouper.nodes(unit);
      for (const int node : nodes) done[static_cast<size_t>(node)] = true;
      const bool small = weight_of(nodes) < options_.min_nodes && !beside_product(nodes) &&
                         !has_large_result(nodes) && !(options_.lone_exact && gives_the_one_answer(nodes));
      if (small || wastes_threads(spaces[unit])) {
        for (const int node : nodes)
          leave_to_pytorch(node, small ? "nothing to fuse with" : "a few numbers from many: one thread would do it");
      } else {
        for (const int node : nodes)
          result_.kernel_of[static_cast<size_t>(node)] = static_cast<int>(groups_.size());
        groups_.push_back(nodes);
        group_spaces_.push_back(spaces[unit]);
      }
    }
    before_ = dependencies(graph_, kinds_.reads);
  }

  /// A node that is no part of a kernel after all: PyTorch is handed every tensor among its arguments, also one that a kernel would
  /// not read (the other of `x.to(other)` only tells a type).
  void leave_to_pytorch(int node, std::string why) {
    result_.extern_why[static_cast<size_t>(node)] = std::move(why);
    auto& reads = kinds_.reads[static_cast<size_t>(node)];
    auto all = argument_values(graph_.nodes[static_cast<size_t>(node)]);
    for (const ValueId id : all)
      if (std::find(reads.begin(), reads.end(), id) == reads.end()) users_[static_cast<size_t>(id)].push_back(node);
    reads = std::move(all);
  }

  /// From who reads a kernel's value, also through views that are not made.
  void find_storage(size_t v, int own, Storage& storage) const {
    for (const int user : users_[v]) {
      const int kernel = result_.kernel_of[static_cast<size_t>(user)];
      if (kinds_.gather_of(user)) storage = Storage::kTensor;
      if (by_memory(user)) {
        if ((kernel < 0 || kernel != own) && storage == Storage::kNone) storage = Storage::kScratch;
        continue;
      }
      if (!elided_[static_cast<size_t>(user)]) {
        storage = Storage::kTensor;
        continue;
      }
      for (const ValueId id : graph_.nodes[static_cast<size_t>(user)].outputs)
        find_storage(static_cast<size_t>(id), own, storage);
    }
  }

  void classify_storage() {
    result_.storage.assign(graph_.values.size(), Storage::kNone);
    for (size_t v = 0; v < graph_.values.size(); ++v) {
      const graph::Value& val = graph_.values[v];
      Storage& storage = result_.storage[v];
      if (val.input >= 0) {
        storage = Storage::kInput;
      } else if (val.producer < 0) {
        continue;
      } else if (elided_[static_cast<size_t>(val.producer)]) {
        continue;
      } else if (!by_memory(val.producer) || is_output_[v] || makes_tensor(graph_, val.producer)) {
        storage = Storage::kTensor;
      } else {
        const int own = result_.kernel_of[static_cast<size_t>(val.producer)];
        find_storage(v, own, storage);
        // A product's result is written whether somebody reads it or not.
        if (own < 0 && storage == Storage::kNone) storage = Storage::kScratch;
      }
    }
  }

  void sort() {
    // Units: groups first, then extern nodes, then the checks of nodes in groups.
    const size_t groups = groups_.size();
    const auto unit_of = [&](int node) {
      const int group = result_.kernel_of[static_cast<size_t>(node)];
      return group >= 0 ? static_cast<size_t>(group) : groups + static_cast<size_t>(node);
    };
    const size_t checks = groups + count(), units = checks + count();
    std::vector<std::set<size_t>> after(units);
    std::vector<int> waiting(units, 0);
    const auto follow = [&](size_t from, size_t to) {
      if (from != to && after[from].insert(to).second) ++waiting[to];
    };
    const auto is_checked = [&](size_t n) {
      return result_.kernel_of[n] >= 0 && kinds_.gather_of(static_cast<int>(n)) != nullptr;
    };
    for (size_t n = 0; n < count(); ++n) {
      const size_t to = unit_of(static_cast<int>(n));
      for (const int earlier : before_[n]) {
        const size_t from = unit_of(earlier);
        follow(from, to);
        if (is_checked(n)) follow(from, checks + n);
      }
      if (is_checked(n)) follow(checks + n, to);
    }
    const auto place = [&](size_t unit) {
      if (unit < groups) return groups_[unit].back();
      return static_cast<int>(unit < checks ? unit - groups : unit - checks);
    };
    using Entry = std::pair<int, size_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    for (size_t unit = 0; unit < units; ++unit) {
      const bool real =
          unit < groups || (unit < checks ? result_.kernel_of[unit - groups] < 0 : is_checked(unit - checks));
      if (real && waiting[unit] == 0) ready.emplace(place(unit), unit);
    }
    while (!ready.empty()) {
      const size_t unit = ready.top().second;
      ready.pop();
      Step step;
      if (unit < groups) {
        for (size_t k = first_kernel_[unit]; k < first_kernel_[unit + 1]; ++k) {
          step.kernel = static_cast<int>(k);
          result_.order.push_back(step);
        }
      } else if (unit < checks) {
        step.node = place(unit);
        step.product = product_of_[static_cast<size_t>(step.node)];
      } else {
        step.check = place(unit);
        const Gather& gather = *kinds_.gather_of(step.check);
        step.range = {gather.index, gather.wraps ? -gather.extent : 0, gather.extent - 1};
      }
      if (step.check >= 0 || (step.node >= 0 && !elided_[static_cast<size_t>(step.node)]))
        result_.order.push_back(std::move(step));
      for (const size_t next : after[unit]) {
        if (--waiting[next] == 0) ready.emplace(place(next), next);
      }
    }
  }

  void find_deaths() {
    std::vector<int> last(graph_.values.size(), -1);
    for (size_t s = 0; s < result_.order.size(); ++s) {
      const Step& step = result_.order[s];
      const auto note = [&](ValueId id) {
        if (id != graph::kNoValue) last[static_cast<size_t>(id)] = static_cast<int>(s);
      };
      if (step.kernel >= 0) {
        const Kernel& kernel = result_.kernels[static_cast<size_t>(step.kernel)];
        for (const Buffer& buffer : kernel.inputs) note(buffer.value);
        for (const Store& store : kernel.outputs) note(store.buffer.value);
      } else if (step.product >= 0) {
        const Product& product = result_.products[static_cast<size_t>(step.product)];
        for (const Matrix* matrix : {&product.out, &product.a, &product.b, &product.bias})
          note(matrix->value);
      } else if (step.check >= 0) {
        for (const ValueId id : kinds_.reads[static_cast<size_t>(step.check)]) note(id);
      } else {
        for (const ValueId id : kinds_.reads[static_cast<size_t>(step.node)]) note(id);
        for (const ValueId id : graph_.nodes[static_cast<size_t>(step.node)].outputs) note(id);
      }
    }
    for (size_t v = 0; v < last.size(); ++v) {
      const bool stays = is_output_[v] || graph_.values[v].input >= 0;
      if (last[v] >= 0 && !stays)
        result_.order[static_cast<size_t>(last[v])].dies.push_back(static_cast<ValueId>(v));
    }
  }

  const Graph& graph_;
  const Options& options_;
  Schedule result_;
  NodeKinds kinds_;
  std::vector<std::vector<int>> before_;
  std::vector<std::vector<int>> users_;
  std::vector<bool> is_output_;
  std::vector<std::vector<int>> groups_;
  std::vector<Space> group_spaces_;
  std::vector<Place> places_;         ///< per value
  std::vector<bool> elided_;          ///< per node
  std::vector<int> product_of_;       ///< per node: into Schedule::products, or -1
  std::vector<size_t> first_kernel_;  ///< per group, and their number: kernel_of holds groups until the end
};

std::string numbers(const std::vector<graph::ValueId>& ids) {
  std::string text;
  for (const graph::ValueId id : ids) text += " v" + std::to_string(id);
  return text;
}

}  // namespace

Schedule build_schedule(const Graph& graph, const Options& options) {
  return Scheduler(graph, options).run();
}

std::string print_order(const Schedule& schedule, const Graph& graph) {
  std::string text;
  for (const Step& step : schedule.order) {
    if (step.kernel >= 0) {
      text += "run " + schedule.kernels[static_cast<size_t>(step.kernel)].name;
    } else if (step.product >= 0) {
      text += "multiply n" + std::to_string(step.node) + ' ' +
              graph.nodes[static_cast<size_t>(step.node)].name + "  ; " +
              print(schedule.products[static_cast<size_t>(step.product)]);
    } else if (step.check >= 0) {
      text += "check n" + std::to_string(step.check) + ' ' +
              graph.nodes[static_cast<size_t>(step.check)].name + "  ; v" + std::to_string(step.range.index) +
              " in " + std::to_string(step.range.first) + ".." + std::to_string(step.range.last);
    } else {
      const size_t node = static_cast<size_t>(step.node);
      text += "call n" + std::to_string(step.node) + ' ' + graph.nodes[node].name + "  ; " +
              schedule.extern_why[node];
    }
    if (!step.dies.empty()) text += "  ; frees" + numbers(step.dies);
    text += "\n";
  }
  return text;
}

std::string print(const Schedule& schedule, const Graph& graph) {
  std::string text = print_order(schedule, graph);
  for (const Kernel& kernel : schedule.kernels) text += "\n" + print(kernel);
  return text;
}

}  // namespace breakline::schedule
