// SPDX-License-Identifier: GPL-3.0-or-later
// How much arithmetic and memory traffic a graph needs at the least, counted from its operators and shapes.
#pragma once
#include <string>

#include "core/graph/graph.h"

namespace breakline::engine {

/// What one run of a graph can't do without.
struct GraphWork {
  double flops = 0;         ///< a multiply-add is two; one a result where an operator's own cost is not known
  double matrix_flops = 0;  ///< of them, products: matmul, convolution, attention
  double bytes = 0;   ///< inputs read once and outputs written once; what lies in between may stay in caches
  int uncounted = 0;  ///< operators whose arithmetic is not known, counted as nothing
  graph::DType matrix_dtype = graph::DType::kFloat32;  ///< of the last product
};

/// Counts a graph. A lower bound: an input that is only looked up in (an embedding's table) counts as what is
/// taken out of it.
GraphWork work_of(const graph::Graph& graph);

}  // namespace breakline::engine
