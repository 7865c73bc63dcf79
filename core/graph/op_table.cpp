// SPDX-License-Identifier: GPL-3.0-or-later
// Gathers the families' rows and finds them by torch name. The rows themselves live in one file per family.
#include "core/graph/op_table.h"

#include <string>
#include <unordered_map>

#include "core/graph/op_families.h"

namespace breakline::graph {

const TensorMeta& ShapeCall::meta(const Arg& a) const {
  return graph->values[static_cast<size_t>(a.id())].meta;
}

const Arg* ShapeCall::kwarg(std::string_view name) const {
  for (const auto& [key, value] : kwargs) {
    if (key == name) return &value;
  }
  return nullptr;
}

const Arg* ShapeCall::get(size_t index, std::string_view name) const {
  if (index < args.size()) return &args[index];
  return kwarg(name);
}

namespace {

struct Table {
  std::vector<OpRow> rows;
  std::unordered_map<std::string_view, const OpRow*> by_name;

  Table() {
    for (const auto family : kFamilies) {
      const auto part = family();
      rows.insert(rows.end(), part.begin(), part.end());
    }
    for (const OpRow& row : rows) {
      by_name.emplace(row.name, &row);
      std::string_view rest = row.aliases;
      while (!rest.empty()) {
        const size_t end = rest.find(' ');
        by_name.emplace(rest.substr(0, end), &row);
        rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
      }
    }
  }
  const OpRow* find(std::string_view name) const {
    const auto it = by_name.find(name);
    return it == by_name.end() ? nullptr : it->second;
  }
};

const Table& table() {
  static const Table t;
  return t;
}

}  // namespace

OpRef find_op(std::string_view name) {
  const Table& t = table();
  if (name == "rsub") return {t.find("sub"), false, true};
  if (const OpRow* row = t.find(name)) return {row, false, false};
  const bool dunder = name.size() > 5 && name.starts_with("__") && name.ends_with("__");
  if (dunder && (name[2] == 'i' || name[2] == 'r')) {
    const std::string plain = "__" + std::string(name.substr(3));
    if (const OpRow* row = t.find(plain)) return {row, name[2] == 'i', name[2] == 'r'};
    return {};
  }
  if (!dunder && name.size() > 1 && name.back() == '_') {
    if (const OpRow* row = t.find(name.substr(0, name.size() - 1))) return {row, true, false};
  }
  return {};
}

std::span<const OpRow> all_ops() { return table().rows; }

}  // namespace breakline::graph
