// SPDX-License-Identifier: GPL-3.0-or-later
// Calls of modules without hooks: what Module._wrapped_call_impl and Module._call_impl do up to the call of forward, in one step. The
// guards, frames, variables, operands and instruction numbers are those that their instructions make one by one; wherever something
// is not as usual, these are left to do it.
#include <algorithm>
#include <array>
#include <string_view>

#include "core/torch/tensor.h"
#include "core/trace/inline_rules.h"
#include "core/trace/opcodes.h"
#include "core/trace/tracer.h"

namespace breakline::trace {

using bytecode::Code;
using bytecode::Instr;
using bytecode::Op;

namespace {

constexpr std::array<const char*, 4> kOwnHooks = {"_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks"};
constexpr std::array<const char*, 4> kGlobalHooks = {"_global_backward_pre_hooks", "_global_backward_hooks", "_global_forward_hooks",
                                                     "_global_forward_pre_hooks"};

/// The way from a function's start to its first call with * and ** when whatever it tests on the way is None or false.
struct Path {
  const Code* code = nullptr;
  std::vector<std::string_view> names;  ///< of the globals and attributes on the way, in order
  int call = 0;                         ///< the instruction that calls
  int length = 0;                       ///< instructions up to it, itself included
  int highest = 0;
  int stored = -1;                      ///< the slot that is written on the way
  bool plain = true;                    ///< nothing on the way but loads, tests and one store
};

Path path_of(PyObject* function) {
  Path p;
  p.code = bytecode::decode(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function)));
  const std::vector<Instr>& instrs = p.code->instrs;
  constexpr int kLongest = 200;
  bool negated = false;
  for (int at = 0; p.length < kLongest && static_cast<size_t>(at) < instrs.size();) {
    const Instr& in = instrs[static_cast<size_t>(at)];
    ++p.length;
    p.highest = std::max(p.highest, at);
    int next = at + 1;
    switch (in.op) {
      case Op::kCallEx: p.call = at; return p;
      case Op::kLoadGlobal:
      case Op::kLoadAttr:
      case Op::kLoadMethod: p.names.push_back(py::utf8(in.object)); break;
      case Op::kStoreFast:
      case Op::kStoreDeref:
        p.plain = p.plain && p.stored < 0;
        p.stored = in.arg;
        break;
      case Op::kUnaryNot: negated = true; break;
      case Op::kPopJumpIfNone: next = in.target; break;
      case Op::kPopJumpIfNotNone:
      case Op::kJumpIfTrueOrPop: break;
      case Op::kJumpIfFalseOrPop: next = in.target; break;
      case Op::kPopJumpIfFalse:
      case Op::kPopJumpIfTrue:
        if ((in.op == Op::kPopJumpIfTrue) == negated) next = in.target;
        negated = false;
        break;
      case Op::kJump: next = in.target; break;
      case Op::kCall: p.plain = p.plain && in.arg == 0; break;
      case Op::kNop:
      case Op::kMakeCell:
      case Op::kPushNull:
      case Op::kLoadFast:
      case Op::kLoadDeref:
      case Op::kToBool:
      case Op::kBuildMap:
      case Op::kDictMerge: break;
      default: p.plain = false;
    }
    at = next;
  }
  p.plain = false;
  return p;
}

struct ModuleCall {
  Path wrapped, inner;
  PyObject *tracing_state = nullptr, *compiled_call = nullptr, *call = nullptr, *forward = nullptr;
  std::array<PyObject*, 4> own{}, global{};
};

/// What PyTorch's two functions are; null while there is no PyTorch, or where its functions are not the known ones.
const ModuleCall* module_call() {
  static const ModuleCall* known = nullptr;
  static bool asked = false;
  if (asked) return known;
  PyTypeObject* type = torch::available() ? module_class() : nullptr;
  if (!type) return nullptr;
  asked = true;
  PyObject *wrapped = py::type_lookup(type, py::intern("_wrapped_call_impl")), *inner = py::type_lookup(type, py::intern("_call_impl"));
  if (!wrapped || !inner || !PyFunction_Check(wrapped) || !PyFunction_Check(inner)) return nullptr;
  auto* made = new ModuleCall;
  made->wrapped = path_of(wrapped);
  made->inner = path_of(inner);
  std::vector<std::string_view> inner_names = {"torch", "_C", "_get_tracing_state", "forward"};
  inner_names.insert(inner_names.end(), kOwnHooks.begin(), kOwnHooks.end());
  inner_names.insert(inner_names.end(), kGlobalHooks.begin(), kGlobalHooks.end());
  const std::vector<std::string_view> wrapped_names = {"_compiled_call_impl", "_call_impl"};
  const auto shape = [](const Path& p) {  // (self, *args, **kwargs)
    const PyCodeObject* c = p.code->code;
    return p.plain && c->co_argcount == 1 && c->co_kwonlyargcount == 0 && p.code->has_varargs && p.code->has_varkw && !p.code->is_generator;
  };
  if (!shape(made->wrapped) || !shape(made->inner) || made->wrapped.names != wrapped_names || made->inner.names != inner_names ||
      made->wrapped.stored >= 0 || made->inner.stored < 0)
    return nullptr;
  made->compiled_call = py::intern("_compiled_call_impl");
  made->call = py::intern("_call_impl");
  made->forward = py::intern("forward");
  made->tracing_state = py::intern("_get_tracing_state");
  std::transform(kOwnHooks.begin(), kOwnHooks.end(), made->own.begin(), py::intern);
  std::transform(kGlobalHooks.begin(), kGlobalHooks.end(), made->global.begin(), py::intern);
  return known = made;
}

/// torch._C._get_tracing_state() says that torch.jit traces nothing.
bool is_not_tracing(Tracer& t, Value* globals, PyObject* name) {
  Value* torch = t.dict_get(globals, py::intern("torch"));
  if (!torch || t.force(torch)->kind != Kind::kConstant || Py_TYPE(torch->object) != &PyModule_Type) return false;
  bool missing = false;
  Value* c = t.module_attribute(torch->object, py::intern("_C"), &missing);
  if (missing || !c || t.force(c)->kind != Kind::kConstant || Py_TYPE(c->object) != &PyModule_Type) return false;
  Value* state = t.module_attribute(c->object, name, &missing);
  if (missing || !state || t.force(state)->kind != Kind::kConstant || !PyCFunction_Check(state->object)) return false;
  if (std::string_view(reinterpret_cast<PyCFunctionObject*>(state->object)->m_ml->ml_name) != "_get_tracing_state") return false;
  const py::Ref traced = py::Ref::steal(PyObject_CallNoArgs(state->object));
  PyErr_Clear();
  return traced.get() == Py_None;
}

}  // namespace

const Code* module_call_code() {
  const ModuleCall* m = module_call();
  return m ? m->wrapped.code : nullptr;
}

bool Tracer::call_module(SymFrame& f) {
  const ModuleCall& m = *module_call();
  const int steps = m.wrapped.length + m.inner.length - 1;  // up to the call of forward
  if (watching_ || !mortals_.empty() || !class_writes_.empty() || !made_objects_.empty() || !hints_.varying.empty() || !hints_.dynamic.empty()) return false;
  if (frames_.size() + 2 > static_cast<size_t>(options_.inline_depth)) return false;
  if (nesting_ == 0) {
    if (!forced_.empty())
      if (const auto next = forced_.upper_bound(instruction_count_); next != forced_.end() && next->first <= instruction_count_ + steps) return false;
    for (int i = 1; options_.force_break_every > 0 && i <= steps; ++i)
      if (is_forced(instruction_count_ + i)) return false;
  }
  const Value *positional = f.locals_[1], *named = f.locals_[2];  // made by the call, not found at the entry
  if (!positional || positional->kind != Kind::kTuple || positional->source >= 0 || !named || named->kind != Kind::kDict || named->source >= 0) return false;
  Value* self = f.locals_[0];
  if (!self || self->kind != Kind::kLive || self->source < 0 || !is_module(self->object)) return false;
  PyTypeObject* type = type_of(self);
  ModuleClass cls = *module_classes_.try_emplace(type, {}).first;
  if (!cls.version || cls.version != type->tp_version_tag) {
    static PyObject *const getattribute = py::intern("__getattribute__"), *const generic = py::type_lookup(&PyBaseObject_Type, getattribute);
    cls.call = lookup(type, m.call);
    cls.forward = lookup(type, m.forward);
    if (lookup(type, getattribute) != generic || lookup(type, m.compiled_call) != Py_None || !cls.call || !PyFunction_Check(cls.call) || !cls.forward ||
        !PyFunction_Check(cls.forward))
      return false;
    for (PyObject* name : m.own)
      if (lookup(type, name)) return false;
    cls.version = type->tp_version_tag;
    module_classes_.set(type, cls);
  }
  PyObject *call = cls.call, *forward = cls.forward;
  if (PyFunction_GET_CODE(call) != reinterpret_cast<PyObject*>(m.inner.code->code)) return false;
  PyCodeObject** known = plain_functions_.find(call);
  Value* own = instance_dict(self);
  if (!known || *known != m.inner.code->code || !own || own->kind != Kind::kDict) return false;
  // As the instructions look at it, in their order.
  if (dict_get(own, m.compiled_call) || dict_get(own, m.call)) return false;
  // What all modules share stays as it was seen while the trace has changed nothing since.
  const bool shared_known = globals_checked_ == effects_.size() + 1;
  Value* globals = namespace_value(PyFunction_GET_GLOBALS(call));
  if (!shared_known && !is_not_tracing(*this, globals, m.tracing_state)) return false;
  if (dict_get(own, m.forward)) return false;
  const auto is_empty = [this](Value* hooks) { return hooks && force(hooks)->kind == Kind::kDict && dict_size(hooks) == 0; };
  for (PyObject* name : m.own)
    if (!is_empty(dict_get(own, name))) return false;
  for (PyObject* name : m.global)
    if (!shared_known && !is_empty(dict_get(globals, name))) return false;
  globals_checked_ = effects_.size() + 1;

  const auto pass = [](SymFrame& frame, const Path& path) {
    frame.lowest = 0;
    frame.highest = std::max(frame.highest, path.highest);
    frame.current = path.call;
    frame.pc = path.call + 1;
  };
  pass(f, m.wrapped);
  instruction_count_ += m.wrapped.length;
  if (nesting_ == 0) outer_instruction_ = instruction_count_;
  Values args;
  Keywords keywords;
  args.reserve(positional->items.size() + 1);
  args.push_back(self);
  args.insert(args.end(), positional->items.begin(), positional->items.end());
  for (const DictEntry& e : named->dict->entries) keywords.emplace_back(e.key->object, e.value);
  push_frame(constant(call), call, m.inner.code->code, PyFunction_GET_GLOBALS(call), reinterpret_cast<PyFunctionObject*>(call)->func_builtins, args,
             keywords);
  SymFrame& inner = top();
  for (int i = 0; i < m.inner.call; ++i)
    if (const Instr& in = inner.code->instrs[static_cast<size_t>(i)]; in.op == Op::kMakeCell) opcode_table()[static_cast<size_t>(in.op)](*this, inner, in);
  Value* bound = method(constant(forward), self);
  const auto variable = [&inner](int slot) -> Value*& {
    Value*& v = inner.locals_[static_cast<size_t>(slot)];
    return v && v->kind == Kind::kCell ? v->items[0] : v;
  };
  variable(m.inner.stored) = bound;
  Value* words = new_dict();
  words->dict->entries = variable(2)->dict->entries;
  inner.stack = {nullptr, bound, variable(1), words};
  pass(inner, m.inner);
  inner.pc = m.inner.call;  // it is made by the next instruction
  instruction_count_ += m.inner.length - 1;
  return true;
}

}  // namespace breakline::trace
