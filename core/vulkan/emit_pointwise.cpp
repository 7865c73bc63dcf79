// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "core/vulkan/emit_common.h"
#include "core/vulkan/glsl_math.h"

namespace breakline::vulkan {
namespace {

using graph::DType;
using schedule::Inst;
using schedule::Kernel;
using schedule::Op;
using schedule::RegType;

// Four elements per invocation pay when there is something to read; a long body would be compiled four times.
constexpr int64_t kVectorFrom = 4096;
constexpr size_t kVectorInsts = 64;

const char* type_text(RegType type) {
  switch (type) {
    case RegType::kBool:
      return "bool";
    case RegType::kI64:
      return "int64_t";
    case RegType::kF32:
      return "float";
    case RegType::kU8:
    case RegType::kI8:
    case RegType::kI16:
    case RegType::kI32:
      return "int";
    case RegType::kF64:
      return "double";
  }
  return "float";
}

/// Brings an int expression back into the range of a narrow type.
std::string wrapped(RegType type, const std::string& text) {
  if (type == RegType::kU8) return "((" + text + ") & 255)";
  if (type == RegType::kI8) return "bitfieldExtract(" + text + ", 0, 8)";
  return text;
}

/// Ops that are one function of ours or of GLSL on floats.
struct CallRow {
  Op op;
  const char* function;
};
constexpr CallRow kCalls[] = {
    {Op::kSqrt, "sqrt"},           {Op::kFloor, "floor"},
    {Op::kCeil, "ceil"},           {Op::kTrunc, "trunc"},
    {Op::kRoundEven, "roundEven"}, {Op::kExp, "bl_exp"},
    {Op::kExp2, "bl_exp2"},        {Op::kExpm1, "bl_expm1"},
    {Op::kLog, "bl_log"},          {Op::kLog2, "bl_log2"},
    {Op::kLog10, "bl_log10"},      {Op::kLog1p, "bl_log1p"},
    {Op::kSin, "bl_sin"},          {Op::kCos, "bl_cos"},
    {Op::kTan, "bl_tan"},          {Op::kTanh, "bl_tanh"},
    {Op::kSinh, "bl_sinh"},        {Op::kCosh, "bl_cosh"},
    {Op::kAtan, "bl_atan"},        {Op::kErf, "bl_erf"},
    {Op::kPow, "bl_pow"},          {Op::kCopySign, "bl_copy_sign"},
};

const char* infix(Op op) {
  switch (op) {
    case Op::kAdd:
      return "+";
    case Op::kSub:
      return "-";
    case Op::kMul:
      return "*";
    case Op::kDiv:
      return "/";
    case Op::kEq:
      return "==";
    case Op::kNe:
      return "!=";
    case Op::kLt:
      return "<";
    case Op::kLe:
      return "<=";
    case Op::kGt:
      return ">";
    case Op::kGe:
      return ">=";
    default:
      return nullptr;
  }
}

class PointwiseEmitter {
 public:
  PointwiseEmitter(const Kernel& kernel, const std::vector<int64_t>& offsets, const DeviceTraits& traits)
      : kernel_(kernel), offsets_(offsets), traits_(traits) {}

  Result<KernelText> run() {
    for (const auto& input : kernel_.inputs) add_buffer(input, false);
    for (const auto& store : kernel_.outputs) add_buffer(store.buffer, true);
    if (!error_.empty()) return Error{error_};
    choose_width();
    std::string body = body_function();
    if (!error_.empty()) return Error{error_};
    KernelText text;
    text.glsl = kernel_head(buffers_, int64_) + glsl_functions(functions_) + body;
    std::vector<int64_t> dims = kernel_.dims.empty() ? std::vector<int64_t>{1} : kernel_.dims;
    if (vector_) dims.back() /= 4;
    int64_t count = 1;
    for (int64_t d : dims) count *= d;
    text.glsl += main_head(count, traits_, &text) + coordinates_text("i", dims) + main_body() + "}\n";
    return text;
  }

 private:
  void fail(const std::string& why) {
    if (error_.empty()) error_ = why;
  }

  void add_buffer(const schedule::Buffer& buffer, bool write) {
    if (!storable(buffer.dtype, traits_)) {
      fail("no " + std::string(graph::dtype_name(buffer.dtype)) + " on this device");
    }
    buffers_.push_back({buffer.dtype, write, false});
    strides_.push_back(buffer.strides);
    strides_.back().resize(std::max<size_t>(kernel_.dims.size(), 1), 0);
  }

  void choose_width() {
    if (kernel_.dims.empty() || kernel_.dims.back() % 4 != 0) return;
    if (kernel_.numel() < kVectorFrom || kernel_.insts.size() > kVectorInsts) return;
    for (size_t i = 0; i < buffers_.size(); i++) {
      int64_t inner = strides_[i].back();
      if (inner != 1 && (inner != 0 || buffers_[i].write)) return;
      if (inner == 0 || !element_text(buffers_[i].dtype).vec4) continue;
      bool aligned = offsets_[i] % 4 == 0;
      for (size_t d = 0; d + 1 < strides_[i].size(); d++) aligned &= strides_[i][d] % 4 == 0;
      if (!aligned) return;
    }
    vector_ = true;
    for (size_t i = 0; i < buffers_.size(); i++) {
      buffers_[i].vec4 = strides_[i].back() == 1 && element_text(buffers_[i].dtype).vec4;
    }
  }

  std::string use(const char* function) {
    functions_.push_back(function);
    return function;
  }
  std::string reg(int inst) const { return "t" + std::to_string(inst); }
  const Inst& at(int inst) const { return kernel_.insts[static_cast<size_t>(inst)]; }

  std::string cast(int a, RegType to) {
    RegType from = at(a).type;
    std::string x = reg(a);
    bool to_float = to == RegType::kF32;
    if (from == to) return x;
    if (to == RegType::kBool) {
      if (from == RegType::kF32) return x + " != 0.0";
      return from == RegType::kI64 ? x + " != int64_t(0)" : x + " != 0";
    }
    std::string target = type_text(to);
    // Mesa's lavapipe gets int64_t(b ? 1 : 0) > 0 wrong; a selection between two int64_t is right.
    if (from == RegType::kBool) return x + " ? " + target + "(1) : " + target + "(0)";
    if (to_float) return "float(" + x + ")";
    if (from == RegType::kF32) {
      if (to == RegType::kI64) return use("bl_to_i64") + "(" + x + ")";
      return wrapped(to, use("bl_to_i32") + "(" + x + ")");
    }
    return wrapped(to, target + "(" + x + ")");
  }

  std::string constant(const Inst& inst) const {
    if (inst.type == RegType::kF32) return float_text(inst.number);
    if (inst.type == RegType::kBool) return inst.integer ? "true" : "false";
    if (inst.type == RegType::kI64) {
      char text[80];
      auto bits = static_cast<uint64_t>(inst.integer);
      std::snprintf(text, sizeof text, "int64_t(0x%" PRIx64 "ul)", bits);
      return text;
    }
    char text[32];
    std::snprintf(text, sizeof text, "int(0x%xu)", static_cast<unsigned>(static_cast<int32_t>(inst.integer)));
    return text;
  }

  std::string logic(const Inst& inst, const char* on_bool, const char* on_int) const {
    bool is_bool = inst.type == RegType::kBool;
    return reg(inst.a) + " " + (is_bool ? on_bool : on_int) + " " + reg(inst.b);
  }

  std::string expression(const Inst& inst) {
    bool real = inst.type == RegType::kF32;
    std::string a = inst.a >= 0 ? reg(inst.a) : "", b = inst.b >= 0 ? reg(inst.b) : "";
    if (const char* sign = infix(inst.op)) return wrapped(inst.type, a + " " + sign + " " + b);
    for (const CallRow& row : kCalls) {
      if (row.op != inst.op) continue;
      if (inst.op == Op::kPow && !traits_.float64) fail("pow needs float64, which this device lacks");
      return use(row.function) + "(" + a + (b.empty() ? "" : ", " + b) + ")";
    }
    switch (inst.op) {
      case Op::kConst:
        return constant(inst);
      case Op::kCast:
        return cast(inst.a, inst.type);
      case Op::kRem:
        if (real) return use("bl_fmod") + "(" + a + ", " + b + ")";
        return wrapped(inst.type, a + " - (" + a + " / " + b + ") * " + b);
      case Op::kFma:
        return "fma(" + a + ", " + b + ", " + reg(inst.c) + ")";
      case Op::kNeg:
        return wrapped(inst.type, "-" + a);
      case Op::kAbs:
        return real ? "abs(" + a + ")" : wrapped(inst.type, a + " < 0 ? -" + a + " : " + a);
      case Op::kAnd:
        return logic(inst, "&&", "&");
      case Op::kOr:
        return logic(inst, "||", "|");
      case Op::kXor:
        return logic(inst, "^^", "^");
      case Op::kNot:
        return inst.type == RegType::kBool ? "!" + a : wrapped(inst.type, "~" + a);
      case Op::kShl:
        return wrapped(inst.type, a + " << int(" + b + ")");
      case Op::kShr:
        return a + " >> int(" + b + ")";
      case Op::kSelect:
        return a + " ? " + b + " : " + reg(inst.c);
      default:
        break;
    }
    fail("no shader for " + std::string(schedule::op_name(inst.op)));
    return "0";
  }

  /// The scalar program as a function of the loaded elements.
  std::string body_function() {
    std::string lines;
    for (size_t n = 0; n < kernel_.insts.size(); n++) {
      const Inst& inst = kernel_.insts[n];
      if (inst.type == RegType::kF64 || inst.type == RegType::kI16) fail("no float64 or int16 kernels");
      int64_ |= inst.type == RegType::kI64;
      bool real = inst.type == RegType::kF32;
      std::string value = inst.op == Op::kLoad ? "x" + std::to_string(inst.index) : expression(inst);
      lines += std::string("  ") + (real ? "precise " : "") + type_text(inst.type) + " t" +
               std::to_string(n) + " = " + value + ";\n";
    }
    std::string parameters;
    auto parameter = [&](const std::string& mode, RegType type, const std::string& name) {
      parameters += (parameters.empty() ? "" : ", ") + mode + type_text(type) + " " + name;
    };
    for (size_t i = 0; i < kernel_.inputs.size(); i++) {
      parameter("", schedule::reg_type(kernel_.inputs[i].dtype), "x" + std::to_string(i));
    }
    for (size_t i = 0; i < kernel_.outputs.size(); i++) {
      parameter("out ", schedule::reg_type(kernel_.outputs[i].buffer.dtype), "y" + std::to_string(i));
      lines += "  y" + std::to_string(i) + " = " + reg(kernel_.outputs[i].inst) + ";\n";
    }
    return "void body(" + parameters + ") {\n" + lines + "}\n";
  }

  /// An element as it lies in memory → register, and back.
  static std::string loaded(DType dtype, const std::string& text) {
    if (dtype == DType::kBool) return "uint(" + text + ") != 0u";
    if (dtype == DType::kUInt8 || dtype == DType::kInt8) return "int(" + text + ")";
    return text;
  }
  static std::string stored(DType dtype, const std::string& text) {
    if (dtype == DType::kBool) return "uint8_t(" + text + " ? 1 : 0)";
    if (dtype == DType::kUInt8) return "uint8_t(" + text + ")";
    if (dtype == DType::kInt8) return "int8_t(" + text + ")";
    return text;
  }

  std::string main_body() const {
    size_t inputs = kernel_.inputs.size();
    std::string before, call, after;
    for (size_t i = 0; i < buffers_.size(); i++) {
      std::string n = std::to_string(i);
      std::vector<int64_t> strides = strides_[i];
      if (vector_) strides.back() *= 4;
      before += "  uint o" + n + " = " + offset_text(static_cast<int>(i), strides) + ";\n";
      bool output = i >= inputs;
      DType dtype = buffers_[i].dtype;
      std::string lane = vector_ && strides_[i].back() == 1 ? " + k" : "";
      std::string element = "b" + n + ".d[o" + n + lane + "]";
      call += i == 0 ? "" : ", ";
      if (buffers_[i].vec4) {
        std::string vec = element_text(dtype).vec4;
        before += "  " + vec + " v" + n + (output ? "" : " = b" + n + ".d[o" + n + " / 4u]") + ";\n";
        if (output) after += "  b" + n + ".d[o" + n + " / 4u] = v" + n + ";\n";
        call += "v" + n + "[k]";
      } else if (output) {
        call += "e" + n;
      } else {
        call += loaded(dtype, element);
      }
    }
    std::string open = vector_ ? "  for (uint k = 0u; k < 4u; k++) {\n" : "  {\n";
    std::string inside;
    for (size_t i = inputs; i < buffers_.size(); i++) {
      std::string n = std::to_string(i);
      if (buffers_[i].vec4) continue;
      inside += std::string("    ") + type_text(schedule::reg_type(buffers_[i].dtype)) + " e" + n + ";\n";
    }
    inside += "    body(" + call + ");\n";
    for (size_t i = inputs; i < buffers_.size(); i++) {
      std::string n = std::to_string(i);
      if (buffers_[i].vec4) continue;
      inside += "    b" + n + ".d[o" + n + (vector_ ? " + k" : "") +
                "] = " + stored(buffers_[i].dtype, "e" + n) + ";\n";
    }
    return before + open + inside + "  }\n" + after;
  }

  const Kernel& kernel_;
  const std::vector<int64_t>& offsets_;
  const DeviceTraits& traits_;
  std::vector<BufferText> buffers_;
  std::vector<std::vector<int64_t>> strides_;
  std::vector<std::string> functions_;
  std::string error_;
  bool vector_ = false, int64_ = false;
};

}  // namespace

Result<KernelText> emit_pointwise(const Kernel& kernel, const std::vector<int64_t>& offsets,
                                  const DeviceTraits& traits) {
  return PointwiseEmitter(kernel, offsets, traits).run();
}

}  // namespace breakline::vulkan
