// SPDX-License-Identifier: GPL-3.0-or-later
// The families of the op table, one file each. To add an op: one row in its family and one golden case.
#pragma once
#include <array>
#include <span>

#include "core/graph/op_table.h"

namespace breakline::graph {

std::span<const OpRow> pointwise_rows();
std::span<const OpRow> cast_rows();
std::span<const OpRow> reduction_rows();
std::span<const OpRow> matmul_rows();
std::span<const OpRow> view_rows();
std::span<const OpRow> movement_rows();
std::span<const OpRow> indexing_rows();
std::span<const OpRow> norm_softmax_rows();
std::span<const OpRow> conv_pool_rows();
std::span<const OpRow> embedding_attention_rows();
std::span<const OpRow> factory_rows();
std::span<const OpRow> recurrent_rows();

inline constexpr std::array kFamilies = {
    &pointwise_rows,    &cast_rows,      &reduction_rows,           &matmul_rows,  &view_rows, &movement_rows,
    &norm_softmax_rows, &conv_pool_rows, &embedding_attention_rows, &factory_rows, &indexing_rows, &recurrent_rows,
};

}  // namespace breakline::graph
