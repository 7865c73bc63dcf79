// SPDX-License-Identifier: GPL-3.0-or-later
// Short forms for passes that make nodes.
#pragma once
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/graph/op_table.h"
#include "core/graph/passes/rewrite.h"

namespace breakline::cpu {

inline graph::Arg arg(int64_t number) { return {number, nullptr}; }
inline graph::Arg arg(double number) { return {number, nullptr}; }
inline graph::Arg arg(const char* text) { return {std::string(text), nullptr}; }
inline graph::Arg arg(const std::vector<int64_t>& numbers) {
  graph::ArgSeq seq;
  for (const int64_t number : numbers) seq.items.push_back(arg(number));
  return {std::move(seq), nullptr};
}
inline graph::Arg empty_list() { return {graph::ArgSeq{graph::ArgSeq::kList, {}}, nullptr}; }
/// A copy of an operand, None where there is none.
inline graph::Arg arg_or_none(const graph::Arg* given) { return given ? *given : graph::Arg::none(); }

inline graph::Node call(const graph::OpRow& row, graph::ObjectHandle callable, std::vector<graph::Arg> args,
                        std::vector<graph::ValueId> outputs) {
  graph::Node node;
  node.op = &row;
  node.callable = callable;
  node.name = row.name;
  node.args = std::move(args);
  node.multi = outputs.size() > 1;
  node.outputs = std::move(outputs);
  return node;
}

/// Nodes of the original graph that two nodes stand for.
inline std::vector<int> both(std::vector<int> a, const std::vector<int>& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::sort(a.begin(), a.end());
  a.erase(std::unique(a.begin(), a.end()), a.end());
  return a;
}

/// A dense float32 tensor of the CPU: what the library calls take.
inline bool is_float_tensor(const graph::Value& value) {
  return !value.is_scalar && value.meta.dtype == graph::DType::kFloat32 && value.meta.plain &&
         value.meta.device == graph::DeviceKind::kCpu && value.meta.numel() > 0;
}

/// The value an operand is, or kNoValue.
inline graph::ValueId value_of(const graph::Arg* a) { return a && a->is_value() ? a->id() : graph::kNoValue; }
inline bool is_none(const graph::Arg* a) { return !a || a->is_none(); }

}  // namespace breakline::cpu
