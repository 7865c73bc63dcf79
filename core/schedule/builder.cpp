// SPDX-License-Identifier: GPL-3.0-or-later
// Appends instructions of the kernel IR, each distinct one once.
#include <cmath>
#include <cstring>

#include "core/schedule/lower.h"

namespace breakline::schedule {
namespace {

bool same(const Inst& x, const Inst& y) {
  return x.op == y.op && x.type == y.type && x.a == y.a && x.b == y.b && x.c == y.c && x.index == y.index &&
         x.integer == y.integer && x.half == y.half && std::memcmp(&x.number, &y.number, sizeof(double)) == 0;
}

bool is_comparison(Op op) { return op >= Op::kEq && op <= Op::kGe; }

/// One bit for each half type.
uint8_t half_bit(graph::DType dtype) {
  return dtype == graph::DType::kBFloat16 ? 1 : dtype == graph::DType::kFloat16 ? 2 : 0;
}

uint8_t constant_halves(double number) {
  const float value = static_cast<float>(number);
  uint8_t bits = 0;
  for (const graph::DType half : {graph::DType::kBFloat16, graph::DType::kFloat16}) {
    if (round_to_half(value, half) == value) bits |= half_bit(half);
  }
  return bits;
}

}  // namespace

/// Loads (see `load`), roundings and constants are seen directly; selections and changes of sign pass the
/// property on.
uint8_t Builder::halves_of(const Inst& inst) const {
  const auto of = [&](int id) { return halves_[static_cast<size_t>(id)]; };
  switch (inst.op) {
    case Op::kRound:
      return half_bit(inst.half);
    case Op::kConst:
      return constant_halves(inst.number);
    case Op::kNeg:
    case Op::kAbs:
      return of(inst.a);
    case Op::kSelect:
      return of(inst.b) & of(inst.c);
    default:
      return 0;
  }
}

int Builder::add(Inst inst) {
  for (size_t i = 0; i < insts_.size(); ++i) {
    if (same(insts_[i], inst)) return static_cast<int>(i);
  }
  inst.node = node_;
  insts_.push_back(inst);
  halves_.push_back(halves_of(inst));
  return static_cast<int>(insts_.size()) - 1;
}

int Builder::load(int input, graph::DType dtype) {
  Inst inst;
  inst.op = Op::kLoad;
  inst.index = input;
  return add_load(inst, dtype);
}

int Builder::load_at(int input, graph::DType dtype, int index, int64_t step) {
  Inst inst;
  inst.op = Op::kLoadAt;
  inst.index = input;
  inst.a = index;
  inst.integer = step;
  return add_load(inst, dtype);
}

int Builder::add_load(Inst inst, graph::DType dtype) {
  inst.type = reg_type(dtype);
  const int result = add(inst);
  halves_[static_cast<size_t>(result)] = half_bit(dtype);
  return result;
}

int Builder::constant(RegType type, double number) {
  Inst inst;
  inst.op = Op::kConst;
  inst.type = type;
  inst.number = type == RegType::kF32 ? static_cast<double>(static_cast<float>(number)) : number;
  return add(inst);
}

int Builder::integer(RegType type, int64_t value) {
  Inst inst;
  inst.op = Op::kConst;
  inst.type = type;
  switch (type) {
    case RegType::kBool:
      inst.integer = value != 0;
      break;
    case RegType::kU8:
      inst.integer = static_cast<uint8_t>(value);
      break;
    case RegType::kI8:
      inst.integer = static_cast<int8_t>(value);
      break;
    case RegType::kI16:
      inst.integer = static_cast<int16_t>(value);
      break;
    case RegType::kI32:
      inst.integer = static_cast<int32_t>(value);
      break;
    case RegType::kI64:
      inst.integer = value;
      break;
    case RegType::kF32:
      inst.number = static_cast<double>(static_cast<float>(value));
      break;
    case RegType::kF64:
      inst.number = static_cast<double>(value);
      break;
  }
  return add(inst);
}

int Builder::unary(Op op, int a) {
  Inst inst;
  inst.op = op;
  inst.type = type(a);
  inst.a = a;
  return add(inst);
}

int Builder::binary(Op op, int a, int b) {
  Inst inst;
  inst.op = op;
  inst.type = is_comparison(op) ? RegType::kBool : type(a);
  inst.a = a;
  inst.b = b;
  return add(inst);
}

int Builder::fma(int a, int b, int c) {
  Inst inst;
  inst.op = Op::kFma;
  inst.type = type(a);
  inst.a = a;
  inst.b = b;
  inst.c = c;
  return add(inst);
}

int Builder::select(int cond, int yes, int no) {
  if (yes == no) return yes;
  Inst inst;
  inst.op = Op::kSelect;
  inst.type = type(yes);
  inst.a = cond;
  inst.b = yes;
  inst.c = no;
  return add(inst);
}

int Builder::cast(int a, RegType to) {
  if (type(a) == to) return a;
  const Inst& from = insts_[static_cast<size_t>(a)];
  if (from.op == Op::kConst && !is_float(from.type)) return integer(to, from.integer);
  if (from.op == Op::kConst && is_float(to)) return constant(to, from.number);
  Inst inst;
  inst.op = Op::kCast;
  inst.type = to;
  inst.a = a;
  return add(inst);
}

int Builder::round(int a, graph::DType half) {
  if (halves_[static_cast<size_t>(a)] & half_bit(half)) return a;
  Inst inst;
  inst.op = Op::kRound;
  inst.type = RegType::kF32;
  inst.a = a;
  inst.half = half;
  return add(inst);
}

int Builder::convert(int a, graph::DType dtype) {
  const int widened = cast(a, reg_type(dtype));
  const bool half = dtype == graph::DType::kBFloat16 || dtype == graph::DType::kFloat16;
  return half ? round(widened, dtype) : widened;
}

void drop_unused(Kernel& kernel) {
  std::vector<int> place(kernel.insts.size(), -1);
  for (const Store& store : kernel.outputs) place[static_cast<size_t>(store.inst)] = 0;
  for (size_t i = kernel.insts.size(); i-- > 0;) {
    const Inst& inst = kernel.insts[i];
    if (place[i] < 0) continue;
    const int operands[] = {inst.a, inst.b, inst.c};
    for (int k = 0; k < op_arity(inst.op); ++k) place[static_cast<size_t>(operands[k])] = 0;
  }
  const auto moved = [&](int id) { return id < 0 ? id : place[static_cast<size_t>(id)]; };
  std::vector<Inst> kept;
  for (size_t i = 0; i < kernel.insts.size(); ++i) {
    if (place[i] < 0) continue;
    Inst inst = kernel.insts[i];
    inst.a = moved(inst.a);
    inst.b = moved(inst.b);
    inst.c = moved(inst.c);
    place[i] = static_cast<int>(kept.size());
    kept.push_back(inst);
  }
  for (Store& store : kernel.outputs) store.inst = moved(store.inst);
  kernel.insts = std::move(kept);
}

}  // namespace breakline::schedule
