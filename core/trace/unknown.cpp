// SPDX-License-Identifier: GPL-3.0-or-later
// Values that are known at run time only, as PyTorch's fullgraph=True sees them: which places it lets pass though a value has to
// be read there, and where a value that was read must not decide what the program does next.
#include <algorithm>
#include <string_view>

#include "core/trace/tracer.h"

namespace breakline::trace {

using bytecode::Instr;
using bytecode::Op;

namespace {

/// Operands that an instruction takes from the stack, for those whose result may depend on their values; 0 for others.
size_t operands_of(const Instr& in) {
  switch (in.op) {
    case Op::kBinaryOp:
    case Op::kCompareOp:
    case Op::kContainsOp:
    case Op::kBinarySubscr: return 2;
    case Op::kUnaryNegative:
    case Op::kUnaryInvert:
    case Op::kUnaryPositive:
    case Op::kUnaryNot:
    case Op::kToBool:
    case Op::kLoadAttr:
    case Op::kLoadMethod:
    case Op::kGetIter:
    case Op::kUnpackSequence: return 1;
    case Op::kFormatValue: return in.arg & 4 ? 2 : 1;
    case Op::kBuildString: return static_cast<size_t>(in.arg);
    case Op::kCall: return static_cast<size_t>(in.arg) + 2;
    case Op::kCallEx: return in.arg & 1 ? 4 : 3;
    default: return 0;
  }
}

bool is_of_numpy(const Value* v) {
  if (!v) return false;
  PyObject* o = v->object;
  if (v->kind == Kind::kMethod && !v->items.empty()) return is_of_numpy(v->items[1]) || is_of_numpy(v->items[0]);
  if (!o || (v->kind != Kind::kLive && v->kind != Kind::kConstant)) return false;
  std::string_view type = PyType_Check(o) ? reinterpret_cast<PyTypeObject*>(o)->tp_name : Py_TYPE(o)->tp_name;
  if (PyCFunction_Check(o)) {
    if (PyObject* self = PyCFunction_GET_SELF(o); self && !PyModule_Check(self)) type = Py_TYPE(self)->tp_name;
    else if (PyObject* module = reinterpret_cast<PyCFunctionObject*>(o)->m_module; module && PyUnicode_Check(module)) type = py::utf8(module);
    return (type == "numpy" || type.starts_with("numpy.")) && !type.starts_with("numpy.random");
  }
  return type.starts_with("numpy.") && !type.starts_with("numpy.random");
}

std::string_view argument_of(const BreakInfo& info, std::string_view name) {
  for (const auto& [key, value] : info.arguments)
    if (key == name) return value;
  return {};
}

/// A place that PyTorch tolerates, by reason and one of the reason's arguments ("" = any).
struct ToleratedPlace {
  std::string_view reason, argument, value;
  Tolerance tolerance;
  bool reads;
};
constexpr ToleratedPlace kTolerated[] = {
    {"tensor-item", "call", "__index__", Tolerance::kNone, false},
    {"tensor-item", "call", "complex", Tolerance::kNone, false},
    {"tensor-item", "", "", Tolerance::kFullgraph, true},
    {"tensor-tolist", "integral", "yes", Tolerance::kFullgraph, true},
    {"dynamic-shape", "", "", Tolerance::kFullgraph, true},
    {"numpy-array", "", "", Tolerance::kAlways, true},
    {"tensor-storage", "call", "data_ptr", Tolerance::kAlways, false},
    {"builtin", "function", "id", Tolerance::kAlways, false},
    {"builtin", "function", "hash", Tolerance::kAlways, false},
    {"builtin", "function", "str.format", Tolerance::kAlways, true},
    {"tensor-text", "call", "format", Tolerance::kAlways, true},
    {"data-dependent-branch", "call", "extreme", Tolerance::kAlways, false},
};

/// Calls whose answer does not depend on the value they are asked about.
bool asks_for_the_kind(std::string_view name) {
  static constexpr std::string_view kNames[] = {"isinstance", "type", "callable", "hasattr", "issubclass", "dim", "ndimension",
                                                "element_size", "is_contiguous", "is_floating_point", "get_device", "id"};
  return std::find(std::begin(kNames), std::end(kNames), name.substr(name.rfind('.') + 1)) != std::end(kNames);
}

}  // namespace

void Tracer::note_tolerance(BreakInfo& info) {
  for (const ToleratedPlace& p : kTolerated) {
    if (info.reason != p.reason || (!p.argument.empty() && argument_of(info, p.argument) != p.value)) continue;
    info.tolerance = p.tolerance;
    info.reads = p.reads;
    return;
  }
  // PyTorch traces numpy as well; here its arrays are real ones.
  if (info.reason == "print" || frames_.empty()) return;
  const SymFrame& f = top();
  const size_t count = std::min(operands_of(f.code->instrs[static_cast<size_t>(f.current)]), f.stack.size());
  for (size_t i = 1; i <= count; ++i)
    if (is_of_numpy(f.stack[f.stack.size() - i])) {
      info.tolerance = Tolerance::kAlways;
      info.reads = true;
    }
}

Value* Tracer::unbacked(Value* v) {
  if (v->unbacked) return v;
  if (v->kind == Kind::kConstant) {  // those are shared
    Value* own = make(Kind::kConstant);
    own->object = v->object;
    own->source = v->source;
    v = own;
  }
  v->unbacked = true;
  return v;
}

bool Tracer::is_assertion(const SymFrame& f, const Instr& in) const {
  const auto& code = f.code->instrs;
  size_t at = static_cast<size_t>(f.current) + 1;
  return in.op == Op::kPopJumpIfTrue && at < code.size() && code[at].op == Op::kLoadAssertionError;
}

namespace {

template <int kWanted>
PyObject* check_truth(PyObject*, PyObject* value) {
  const int is = PyObject_IsTrue(value);
  if (is == 1 - kWanted) PyErr_SetNone(PyExc_AssertionError);
  return is == kWanted ? Py_NewRef(Py_None) : nullptr;
}

/// Whether the code from `at` on does nothing but raise: no jump on the way to a raise statement.
bool only_raises(const std::vector<Instr>& code, int at) {
  constexpr int kLongest = 120;
  for (const int end = std::min(at + kLongest, static_cast<int>(code.size())); at >= 0 && at < end; ++at) {
    const Instr& in = code[static_cast<size_t>(at)];
    if (in.op == Op::kRaiseVarargs) return true;
    switch (in.op) {
      case Op::kReturnValue:
      case Op::kYieldValue:
      case Op::kReraise:
      case Op::kBeforeWith:
      case Op::kForIter:
      case Op::kSend: return false;
      default: break;
    }
    if (in.target >= 0) return false;
  }
  return false;
}

}  // namespace

void Tracer::assert_tensor(Value* v, bool wanted) {
  static PyMethodDef kTrue = {"assert_true", check_truth<1>, METH_O, "Fails when its operand is false."};
  static PyMethodDef kFalse = {"assert_false", check_truth<0>, METH_O, "Fails when its operand is true."};
  static PyObject* if_true = PyCFunction_New(&kTrue, nullptr);
  static PyObject* if_false = PyCFunction_New(&kFalse, nullptr);
  if (history_written_) quiet("a call that may fail after a write that autograd has recorded");
  call_without_result(wanted ? if_true : if_false, wanted ? "assert_true" : "assert_false", v, true);
}

std::optional<bool> Tracer::wanted_by_check(const SymFrame& f, const Instr& in) const {
  // PyTorch's fullgraph refuses such a branch, and whoever asks for it counts on that.
  if (options_.root_fullgraph || in.target <= f.current) return std::nullopt;
  const auto& code = f.code->instrs;
  const bool jumps_if = in.op == Op::kPopJumpIfTrue;
  const bool goes_on = only_raises(code, f.current + 1), jumped = only_raises(code, in.target);
  if (goes_on == jumped) return std::nullopt;
  return goes_on ? jumps_if : !jumps_if;
}

void Tracer::call_without_result(PyObject* callable, const char* name, Value* v, bool may_fail) {
  graph::Node node;
  node.callable = callable;
  node.name = name;
  node.args.push_back(argument(v));
  node.may_fail = may_fail;
  node.origin = origin();
  mutated();
  keep_borrowed(callable);
  graph_->nodes.push_back(std::move(node));
}

/// One instruction of a trace that started with values read out of tensors: refuses to let them decide, and marks what is made of them.
void Tracer::run_watched(const Instr& in, SymFrame& f, void (*handler)(Tracer&, SymFrame&, const Instr&)) {
  const auto refuse = [this](const Value* v) { stop("data-dependent-branch", {{"value", v->object ? Py_TYPE(v->object)->tp_name : "TensorVariable()"}}); };
  auto& stack = f.stack;
  const size_t count = std::min(operands_of(in), stack.size());
  switch (in.op) {
    case Op::kPopJumpIfFalse:
    case Op::kPopJumpIfTrue:
    case Op::kJumpIfFalseOrPop:
    case Op::kJumpIfTrueOrPop:
    case Op::kUnaryNot:
    case Op::kGetIter:
      if (in.op == Op::kGetIter) force(stack.back());
      if (stack.back() && stack.back()->unbacked && !is_assertion(f, in) &&
          (stack.back()->kind == Kind::kConstant || stack.back()->kind == Kind::kTensor ||
           (stack.back()->kind == Kind::kLive && in.op != Op::kGetIter)))
        refuse(stack.back());
      break;
    case Op::kBinarySubscr:
      if (Value* container = force(peek(2)); peek(1)->unbacked && container->kind != Kind::kTensor && !container->unbacked) refuse(peek(1));
      break;
    default: break;
  }
  bool number = false, tensor = false;
  std::vector<const graph::TensorMeta*> shapes;
  std::string name;
  const auto look = [&](Value* v, auto&& self, int depth) -> void {
    if (!v || depth > 3) return;
    if (v->kind == Kind::kTensor) {
      tensor = tensor || v->unbacked;
      shapes.push_back(&graph_->values[static_cast<size_t>(v->id)].meta);
    } else {
      number = number || v->unbacked;
    }
    if (v->kind == Kind::kTuple || v->kind == Kind::kSlice || v->kind == Kind::kMethod || (v->kind == Kind::kList && v->source < 0))
      for (Value* i : v->items) self(i, self, depth + 1);
  };
  for (size_t i = 1; i <= count; ++i) look(stack[stack.size() - i], look, 0);
  if (in.op == Op::kCall && (number || tensor)) {
    Value* callee = force(peek(bytecode::call_slots(in.arg, peek(in.arg + 2) == nullptr).callable));
    if (callee->kind == Kind::kConstant) name = name_of(callee->object);
    if (name == "len" && peek(1)->unbacked && text_of(peek(1))) refuse(peek(1));
    if (number && (name == "any" || name == "all")) refuse(peek(1));
  }
  if (in.op == Op::kLoadAttr) name = py::utf8(in.object);
  std::vector<std::vector<int64_t>> sizes;
  for (const graph::TensorMeta* m : shapes) sizes.emplace_back(m->sizes.begin(), m->sizes.end());
  const size_t depth = frames_.size(), height = stack.size();
  handler(*this, f, in);
  if ((!number && !tensor) || !count || frames_.size() != depth || top().stack.size() > height + 1 || asks_for_the_kind(name)) return;
  if (in.op == Op::kLoadMethod || in.op == Op::kUnpackSequence || (in.op == Op::kLoadAttr && name != "shape")) return;
  Value*& result = top().stack.back();
  if (!result) return;
  if (result->kind == Kind::kConstant) {
    if (result->object != Py_None && !PyCallable_Check(result->object)) result = unbacked(result);
  } else if (result->kind == Kind::kLive && result->dynamic) {
    result->unbacked = true;
  } else if (result->kind == Kind::kTuple && tensor) {
    for (Value*& i : result->items) i = unbacked(i);
  } else if (result->kind == Kind::kTensor) {
    // A number that was read shows in the shape of what is made with it, unless the result is as large as an operand.
    const auto& made = graph_->values[static_cast<size_t>(result->id)].meta.sizes;
    const std::vector<int64_t> own(made.begin(), made.end());
    result->unbacked = tensor || (!own.empty() && std::find(sizes.begin(), sizes.end(), own) == sizes.end());
  }
}

}  // namespace breakline::trace
