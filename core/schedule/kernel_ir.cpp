// SPDX-License-Identifier: GPL-3.0-or-later
// Names, text, identity and verification of the kernel IR.
#include "core/schedule/kernel_ir.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>

namespace breakline::schedule {
namespace {

using graph::DType;

struct RegRow {
  RegType type;
  std::string_view name;
  int size;
};
constexpr std::array<RegRow, 8> kRegs{{{RegType::kBool, "bool", 1},
                                       {RegType::kU8, "u8", 1},
                                       {RegType::kI8, "i8", 1},
                                       {RegType::kI16, "i16", 2},
                                       {RegType::kI32, "i32", 4},
                                       {RegType::kI64, "i64", 8},
                                       {RegType::kF32, "f32", 4},
                                       {RegType::kF64, "f64", 8}}};

struct OpInfo {
  Op op;
  std::string_view name;
  int arity;
};
constexpr std::array kOps{
    OpInfo{Op::kLoad, "load", 0},
    OpInfo{Op::kLoadAt, "load_at", 1},
    OpInfo{Op::kConst, "const", 0},
    OpInfo{Op::kCast, "cast", 1},
    OpInfo{Op::kRound, "round_to", 1},
    OpInfo{Op::kAdd, "add", 2},
    OpInfo{Op::kSub, "sub", 2},
    OpInfo{Op::kMul, "mul", 2},
    OpInfo{Op::kDiv, "div", 2},
    OpInfo{Op::kRem, "rem", 2},
    OpInfo{Op::kFma, "fma", 3},
    OpInfo{Op::kNeg, "neg", 1},
    OpInfo{Op::kAbs, "abs", 1},
    OpInfo{Op::kCopySign, "copysign", 2},
    OpInfo{Op::kSqrt, "sqrt", 1},
    OpInfo{Op::kFloor, "floor", 1},
    OpInfo{Op::kCeil, "ceil", 1},
    OpInfo{Op::kTrunc, "trunc", 1},
    OpInfo{Op::kRoundEven, "round_even", 1},
    OpInfo{Op::kExp, "exp", 1},
    OpInfo{Op::kExpDown, "exp_down", 1},
    OpInfo{Op::kExp2, "exp2", 1},
    OpInfo{Op::kExpm1, "expm1", 1},
    OpInfo{Op::kLog, "log", 1},
    OpInfo{Op::kLog2, "log2", 1},
    OpInfo{Op::kLog10, "log10", 1},
    OpInfo{Op::kLog1p, "log1p", 1},
    OpInfo{Op::kSin, "sin", 1},
    OpInfo{Op::kCos, "cos", 1},
    OpInfo{Op::kTan, "tan", 1},
    OpInfo{Op::kTanh, "tanh", 1},
    OpInfo{Op::kSinh, "sinh", 1},
    OpInfo{Op::kCosh, "cosh", 1},
    OpInfo{Op::kAtan, "atan", 1},
    OpInfo{Op::kErf, "erf", 1},
    OpInfo{Op::kPow, "pow", 2},
    OpInfo{Op::kEq, "eq", 2},
    OpInfo{Op::kNe, "ne", 2},
    OpInfo{Op::kLt, "lt", 2},
    OpInfo{Op::kLe, "le", 2},
    OpInfo{Op::kGt, "gt", 2},
    OpInfo{Op::kGe, "ge", 2},
    OpInfo{Op::kAnd, "and", 2},
    OpInfo{Op::kOr, "or", 2},
    OpInfo{Op::kXor, "xor", 2},
    OpInfo{Op::kNot, "not", 1},
    OpInfo{Op::kShl, "shl", 2},
    OpInfo{Op::kShr, "shr", 2},
    OpInfo{Op::kSelect, "select", 3},
    OpInfo{Op::kReduceSum, "reduce_sum", 1},
    OpInfo{Op::kReduceProd, "reduce_prod", 1},
    OpInfo{Op::kReduceMax, "reduce_max", 1},
    OpInfo{Op::kReduceTop, "reduce_top", 1},
    OpInfo{Op::kReduceMin, "reduce_min", 1},
    OpInfo{Op::kReduceAny, "reduce_any", 1},
    OpInfo{Op::kReduceAll, "reduce_all", 1},
};
// The table is indexed by Op: each row must sit at its own number.
constexpr bool rows_in_order() {
  for (size_t i = 0; i < kOps.size(); ++i) {
    if (static_cast<size_t>(kOps[i].op) != i) return false;
  }
  return kOps.size() == static_cast<size_t>(Op::kReduceAll) + 1;
}
static_assert(rows_in_order());

std::string list(const std::vector<int64_t>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? "," : "") + std::to_string(values[i]);
  return text + "]";
}

std::string bits_of(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "0x%016llx",
                static_cast<unsigned long long>(std::bit_cast<uint64_t>(value)));
  return buffer;
}

std::string inst_text(const Inst& inst, bool exact) {
  std::string text{reg_type_name(inst.type)};
  text += ' ';
  text += op_name(inst.op);
  if (is_load(inst.op)) text += " in" + std::to_string(inst.index);
  if (inst.op == Op::kLoadAt) text += " step " + std::to_string(inst.integer) + " at";
  if (inst.op == Op::kConst) {
    if (!is_float(inst.type)) {
      text += ' ' + std::to_string(inst.integer);
    } else if (exact) {
      text += ' ' + bits_of(inst.number);
    } else {
      char buffer[40];
      std::snprintf(buffer, sizeof buffer, " %.17g", inst.number);
      text += buffer;
    }
  }
  if (inst.op == Op::kRound) text += ' ' + std::string(graph::dtype_name(inst.half));
  const int arity = op_arity(inst.op);
  const int operands[] = {inst.a, inst.b, inst.c};
  for (int i = 0; i < arity; ++i) text += (i ? ", %" : " %") + std::to_string(operands[i]);
  return text;
}

std::string buffer_text(const Buffer& buffer) {
  return std::string(graph::dtype_name(buffer.dtype)) + " strides " + list(buffer.strides);
}

std::string loop_text(const Kernel& kernel) {
  const int end = kernel.reduce_begin + kernel.reduce_count;
  std::string text;
  if (kernel.reduce_count > 0)
    text += " reduced " + std::to_string(kernel.reduce_begin) + ".." + std::to_string(end);
  return kernel.streaming ? text + " streaming" : text;
}

bool is_comparison(Op op) { return op >= Op::kEq && op <= Op::kGe; }
bool is_float_only(Op op) { return op == Op::kFma || (op >= Op::kCopySign && op <= Op::kPow); }
bool is_arithmetic(Op op) { return (op >= Op::kAdd && op <= Op::kRem) || op == Op::kNeg || op == Op::kAbs; }

std::string verify_inst(const Kernel& kernel, size_t at) {
  const Inst& inst = kernel.insts[at];
  const int operands[] = {inst.a, inst.b, inst.c};
  for (int i = 0; i < op_arity(inst.op); ++i) {
    if (operands[i] < 0 || operands[i] >= static_cast<int>(at)) return "operand out of order";
  }
  const auto type_of = [&](int id) { return kernel.insts[static_cast<size_t>(id)].type; };
  const bool is_bool = inst.type == RegType::kBool;
  if (is_load(inst.op)) {
    if (inst.index < 0 || inst.index >= static_cast<int>(kernel.inputs.size())) return "no such input";
    if (inst.type != reg_type(kernel.inputs[static_cast<size_t>(inst.index)].dtype))
      return "load of another type";
    if (inst.op == Op::kLoad) return "";
    if (type_of(inst.a) != RegType::kI64 && type_of(inst.a) != RegType::kI32) return "index of another type";
    const auto others = std::count_if(kernel.insts.begin(), kernel.insts.end(), [&](const Inst& other) {
      return is_load(other.op) && other.index == inst.index;
    });
    return others == 1 ? "" : "several loads at places of one input";
  }
  if (inst.op == Op::kConst || inst.op == Op::kCast) return "";
  if (is_comparison(inst.op)) {
    return is_bool && type_of(inst.a) == type_of(inst.b) ? "" : "comparison of different types";
  }
  if (inst.op == Op::kSelect) {
    const bool fits =
        type_of(inst.a) == RegType::kBool && type_of(inst.b) == inst.type && type_of(inst.c) == inst.type;
    return fits ? "" : "select of different types";
  }
  for (int i = 0; i < op_arity(inst.op); ++i) {
    if (type_of(operands[i]) != inst.type) return "operand of another type";
  }
  if (is_reduction(inst.op)) {
    if (kernel.reduce_count == 0) return "reduction in a pointwise kernel";
    const bool truth = inst.op == Op::kReduceAny || inst.op == Op::kReduceAll;
    return truth == is_bool ? "" : "reduction of another type";
  }
  if (inst.op == Op::kRound) {
    const bool fits =
        inst.type == RegType::kF32 && (inst.half == DType::kBFloat16 || inst.half == DType::kFloat16);
    return fits ? "" : "rounding to no half type";
  }
  if (is_float_only(inst.op) && !is_float(inst.type)) return "float op on another type";
  if (is_arithmetic(inst.op) && is_bool) return "arithmetic on bool";
  if ((inst.op == Op::kDiv || inst.op == Op::kRem) && is_int(inst.type)) {
    const Inst& divisor = kernel.insts[static_cast<size_t>(inst.b)];
    const bool safe = divisor.op == Op::kConst && divisor.integer != 0 && divisor.integer != -1;
    return safe ? "" : "integer division by what may be 0 or -1";
  }
  if (inst.op >= Op::kAnd && inst.op <= Op::kNot && is_float(inst.type)) return "bit op on a float";
  if ((inst.op == Op::kShl || inst.op == Op::kShr) && !is_int(inst.type)) return "shift of a non-integer";
  return "";
}

}  // namespace

RegType reg_type(DType dtype) {
  switch (dtype) {
    case DType::kUInt8:
      return RegType::kU8;
    case DType::kInt8:
      return RegType::kI8;
    case DType::kInt16:
      return RegType::kI16;
    case DType::kInt32:
      return RegType::kI32;
    case DType::kInt64:
      return RegType::kI64;
    case DType::kFloat64:
      return RegType::kF64;
    case DType::kBool:
      return RegType::kBool;
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kFloat32:
      return RegType::kF32;
    case DType::kComplex32:
    case DType::kComplex64:
    case DType::kComplex128:
    case DType::kOther:
      break;
  }
  return RegType::kF32;
}

bool has_reg_type(DType dtype) {
  return !graph::is_complex(dtype) && dtype != DType::kOther && graph::item_size(dtype) > 0;
}

std::string_view reg_type_name(RegType type) { return kRegs[static_cast<size_t>(type)].name; }
int reg_size(RegType type) { return kRegs[static_cast<size_t>(type)].size; }
bool is_float(RegType type) { return type == RegType::kF32 || type == RegType::kF64; }
bool is_int(RegType type) { return type >= RegType::kU8 && type <= RegType::kI64; }
bool is_load(Op op) { return op == Op::kLoad || op == Op::kLoadAt; }
bool is_exact(Op op) { return !(op >= Op::kExp && op <= Op::kPow) && op != Op::kFma && !is_reduction(op); }
bool is_reduction(Op op) { return op >= Op::kReduceSum && op <= Op::kReduceAll; }
std::string_view op_name(Op op) { return kOps[static_cast<size_t>(op)].name; }
int op_arity(Op op) { return kOps[static_cast<size_t>(op)].arity; }

int64_t Kernel::numel() const {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

int64_t Kernel::reduced() const {
  int64_t n = 1;
  for (int d = 0; d < reduce_count; ++d) n *= dims[static_cast<size_t>(reduce_begin + d)];
  return n;
}

std::vector<Stage> stages(const Kernel& kernel) {
  std::vector<Stage> result(kernel.insts.size());
  for (size_t i = 0; i < kernel.insts.size(); ++i) {
    const Inst& inst = kernel.insts[i];
    Stage& stage = result[i];
    if (is_load(inst.op)) {
      const Buffer& buffer = kernel.inputs[static_cast<size_t>(inst.index)];
      for (int d = 0; d < kernel.reduce_count; ++d)
        stage.varies |= buffer.strides[static_cast<size_t>(kernel.reduce_begin + d)] != 0;
    }
    const int operands[] = {inst.a, inst.b, inst.c};
    for (int k = 0; k < op_arity(inst.op); ++k) {
      const Stage& from = result[static_cast<size_t>(operands[k])];
      stage.varies |= from.varies;
      stage.pass = std::max(stage.pass, from.pass);
    }
    if (is_reduction(inst.op)) stage = {false, stage.pass + 1};
  }
  return result;
}

bool can_stream(const Kernel& kernel) {
  constexpr int64_t kLine = 64;
  for (const Store& store : kernel.outputs) {
    const int64_t size = graph::item_size(store.buffer.dtype);
    const auto& strides = store.buffer.strides;
    // Vectors are cut from the last dim; rows of it must begin at lines, too.
    if (strides.back() != 1) return false;
    for (size_t d = 0; d + 1 < strides.size(); ++d) {
      if (strides[d] * size % kLine != 0) return false;
    }
    if (kernel.reduce_count > 0 && kernel.dims.back() * size % kLine != 0) return false;
  }
  return true;
}

int64_t Kernel::bytes() const {
  const auto distinct = [&](const Buffer& buffer) {
    int64_t n = 1;
    for (size_t i = 0; i < dims.size(); ++i) n *= buffer.strides[i] == 0 ? 1 : dims[i];
    return n * graph::item_size(buffer.dtype);
  };
  if (numel() == 0) return 0;
  int64_t total = 0;
  for (const Buffer& buffer : inputs) total += distinct(buffer);
  for (const Store& store : outputs) total += distinct(store.buffer);
  return total;
}

std::string print(const Kernel& kernel) {
  std::string text = "kernel " + kernel.name + " dims " + list(kernel.dims) + loop_text(kernel) + "\n";
  for (size_t i = 0; i < kernel.inputs.size(); ++i) {
    const Buffer& buffer = kernel.inputs[i];
    text += "  in" + std::to_string(i) + " = v" + std::to_string(buffer.value) + ' ' + buffer_text(buffer);
    if (buffer.offset != 0) text += " offset " + std::to_string(buffer.offset);
    text += "\n";
  }
  for (size_t i = 0; i < kernel.insts.size(); ++i) {
    const Inst& inst = kernel.insts[i];
    text += "  %" + std::to_string(i) + " = " + inst_text(inst, false);
    if (inst.node >= 0) text += "  ; n" + std::to_string(inst.node);
    text += "\n";
  }
  for (const Store& store : kernel.outputs) {
    text += "  v" + std::to_string(store.buffer.value) + " <- %" + std::to_string(store.inst) + ' ' +
            buffer_text(store.buffer);
    if (store.buffer.offset != 0) text += " offset " + std::to_string(store.buffer.offset);
    text += "\n";
  }
  return text;
}

std::string content_key(const Kernel& kernel) {
  std::string key = list(kernel.dims) + loop_text(kernel) + "\n";
  for (const Buffer& buffer : kernel.inputs) key += buffer_text(buffer) + "\n";
  for (const Inst& inst : kernel.insts) key += inst_text(inst, true) + "\n";
  for (const Store& store : kernel.outputs)
    key += std::to_string(store.inst) + ' ' + buffer_text(store.buffer) + "\n";
  return key;
}

std::string verify(const Kernel& kernel) {
  const auto fits = [&](const Buffer& buffer) {
    return buffer.strides.size() == kernel.dims.size() && has_reg_type(buffer.dtype);
  };
  if (kernel.dims.empty()) return "no loop dims";
  const int after = static_cast<int>(kernel.dims.size()) - kernel.reduce_begin - kernel.reduce_count;
  if (kernel.reduce_count > 0 && (kernel.reduce_begin < 0 || after < 0 || after > 1))
    return "reduced dims in no order";
  if (kernel.outputs.empty()) return "no outputs";
  if (!std::all_of(kernel.inputs.begin(), kernel.inputs.end(), fits))
    return "an input does not fit the loops";
  for (size_t i = 0; i < kernel.insts.size(); ++i) {
    const std::string fault = verify_inst(kernel, i);
    if (!fault.empty()) return "%" + std::to_string(i) + ": " + fault;
  }
  const std::vector<Stage> staged = stages(kernel);
  for (const Store& store : kernel.outputs) {
    if (!fits(store.buffer)) return "an output does not fit the loops";
    if (store.inst < 0 || store.inst >= static_cast<int>(kernel.insts.size()))
      return "output of no instruction";
    if (kernel.insts[static_cast<size_t>(store.inst)].type != reg_type(store.buffer.dtype))
      return "output of another type";
    if (kernel.reduce_count == 0) continue;
    bool walks = true, moves = false;
    for (int d = 0; d < kernel.reduce_count; ++d) {
      const size_t at = static_cast<size_t>(kernel.reduce_begin + d);
      walks &= store.buffer.strides[at] != 0 || kernel.dims[at] == 1;
      moves |= store.buffer.strides[at] != 0;
    }
    const bool varies = staged[static_cast<size_t>(store.inst)].varies;
    if (moves ? !walks : varies) return "an output does not fit the reduced dims";
  }
  return "";
}

}  // namespace breakline::schedule
