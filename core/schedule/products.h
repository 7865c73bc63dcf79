// SPDX-License-Identifier: GPL-3.0-or-later
// Matrix products as calls over memory: which operands, walked how. A product takes part in a plan without
// tensors: what it reads and writes may lie in the arena, and views of its operands need not be made.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace breakline::schedule {

/// A matrix (rank 2) or a stack of matrices (rank 3) in a value's memory; a bias may have fewer dims,
/// broadcast from the right.
struct Matrix {
  graph::ValueId value = graph::kNoValue;
  int64_t offset = 0;  ///< of the first element from the value's own, in elements
  std::vector<int64_t> sizes, strides;
};

/// out = beta * bias + alpha * (a @ b), or a @ b without a bias; once for each of `parts`. Or, with a
/// `packed` weight, the library's product with that weight, which makes its result itself.
struct Product {
  /// Elements to add to the first ones, where a stack has more dims than one.
  struct Part {
    int64_t out = 0, a = 0, b = 0;
  };
  int node = -1;
  graph::DType dtype = graph::DType::kFloat32;
  Matrix out, a, b, bias;  ///< without a bias its value is kNoValue
  double alpha = 1, beta = 1;
  std::vector<Part> parts;
  graph::ValueId packed = graph::kNoValue,
                 weight = graph::kNoValue;  ///< tensors: the weight packed, and as it was
  int64_t rows = 0;                         ///< that it was packed for

  bool is_packed() const { return packed != graph::kNoValue; }
  bool has_bias() const { return bias.value != graph::kNoValue; }
  /// Multiplications of all parts.
  int64_t work() const;
};

/// Why `node` is no product of this kind ("" if it is one). Looks at the node and its operands' metadata
/// only.
std::string why_not_product(const graph::Graph& graph, int node);

/// The rest is for nodes that passed.
std::vector<graph::ValueId> product_operands(const graph::Graph& graph, int node);
Product product_of(const graph::Graph& graph, int node);

/// The result is a tensor that the library makes; else it is written into memory.
bool makes_tensor(const graph::Graph& graph, int node);

/// Stable text: operands, sizes, strides.
std::string print(const Product& product);

}  // namespace breakline::schedule
