// SPDX-License-Identifier: GPL-3.0-or-later
// Attributes of tensors: what PyTorch defines, what Python code has put on them, and those that a subclass changes.
#include "core/guard/equality.h"
#include "core/torch/registry.h"
#include "core/torch/tensor.h"
#include "core/trace/function_parts.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

using guard::SourceKind;
using guard::StepKind;


/// What the attribute under way gives is only compared with None, or taken as a truth value.
static bool asks_only_whether_none(const SymFrame& f) {
  const auto& instrs = f.code->instrs;
  const auto at = static_cast<size_t>(f.pc);
  if (at == 0 || at + 1 >= instrs.size() || instrs[at - 1].op != bytecode::Op::kLoadAttr) return false;
  switch (instrs[at].op) {
    case bytecode::Op::kPopJumpIfNone:
    case bytecode::Op::kPopJumpIfNotNone:
    case bytecode::Op::kPopJumpIfFalse:
    case bytecode::Op::kPopJumpIfTrue: return true;
    case bytecode::Op::kLoadConst: return instrs[at].object == Py_None && instrs[at + 1].op == bytecode::Op::kIsOp;
    default: return false;
  }
}

Value* Tracer::tensor_attribute(Value* o, PyObject* name, bool* missing) {
  if (!modes_.empty())
    if (PyObject* own = lookup(o->type, name); own && Py_TYPE(own)->tp_descr_set && !is_name(name, "__class__") && !is_name(name, "__dict__"))
      if (Value* r = overridden_attribute(o, name)) return r;
  if (is_traced_subclass(o->type)) {
    PyObject *own = lookup(o->type, name), *base = py::type_lookup(o->type->tp_base, name);
    for (PyTypeObject* t = o->type; t && is_traced_subclass(t); t = t->tp_base) base = t->tp_base ? py::type_lookup(t->tp_base, name) : nullptr;
    if (own && own != base) {
      if (is_property(own)) return bind(own, o, o->type, name);
      if (Py_TYPE(own)->tp_descr_set && !PyFunction_Check(own))
        stop("descriptor", {{"class", o->type->tp_name}, {"name", std::string(py::utf8(name))}, {"descriptor", Py_TYPE(own)->tp_name}});
      if (Value* d = tensor_dict(o))
        if (Value* v = dict_get(d, name)) return v;
      return bind(own, o, o->type, name);
    }
    if (own && Py_TYPE(own)->tp_descr_set && !is_name(name, "__class__") && !is_name(name, "__dict__") && is_overriding(o))
      if (Value* r = overridden_attribute(o, name)) return r;
  }
  if (is_name(name, "_grad") && meta(o).is_leaf) name = py::intern("grad");
  torch::AttributeInfo info = torch::attribute_info(name);
  switch (info.kind) {
    case torch::AttributeKind::kConstant: {
      if (varies(o->id) && is_name(name, "shape")) return shape_of(o);
      if (varies(o->id) && is_name(name, "nbytes")) return binary(5, numel_of(o), integer(graph::item_size(meta(o).dtype)));
      py::Ref r = torch::attribute_constant(meta(o), name);
      if (!r) {
        PyErr_Clear();
        stop("builtin", {{"function", "getattr"}, {"arg_types", "Tensor." + std::string(py::utf8(name))}});
      }
      if (is_name(name, "device")) {  // another object each time
        Value* fresh = make(Kind::kConstant);
        fresh->object = keep(r.release());
        return fresh;
      }
      return wrap(r.release());
    }
    case torch::AttributeKind::kOp: return torch_call(info.callable, {o});
    case torch::AttributeKind::kBreak:
      // What retain_grad() was called on has one as well; of other intermediates PyTorch warns.
      if (is_name(name, "retains_grad") && o->source >= 0) {
        py::Ref r = py::check(PyObject_GetAttr(o->object, name));
        return force(live(r.get(), child(SourceKind::kAttribute, o->source, name)));
      }
      if (is_name(name, "grad"))
        for (auto e = effects_.rbegin(); e != effects_.rend(); ++e)
          if (e->kind == Effect::kAttributeSet && e->target == o && is_name(e->name, "grad")) return e->value;
      if (is_name(name, "grad") && o->source >= 0 &&
          (meta(o).is_leaf || truth(attribute(o, py::intern("retains_grad"))) == 1)) {
        // Nothing inside a segment runs the autograd engine, so what is there now is what the segment sees.
        py::Ref r = py::check(PyObject_GetAttr(o->object, name));
        Value* v = live(r.get(), child(SourceKind::kAttribute, o->source, name));
        keep_for_trace(r);
        force(v);
        return v;
      }
      // A leaf that was made here; of other results PyTorch warns.
      if (is_name(name, "grad") && o->source < 0 && meta(o).is_leaf) return none();
      if (is_name(name, "grad") && o->source < 0) break;
      if (is_name(name, "grad_fn")) {
        if (meta(o).is_leaf) return none();
        if (asks_only_whether_none(top())) return constant(Py_Ellipsis);
      }
      stop(std::string(info.reason), {{"name", std::string(py::utf8(name))}, {"value", "TensorVariable()"}});
    case torch::AttributeKind::kUnknown: break;
  }
  if (is_name(name, "__class__")) return constant(reinterpret_cast<PyObject*>(o->type));
  PyObject* a = lookup(o->type, name);
  // Attributes that Python code has put on this very tensor.
  PyObject** place = o->source >= 0 ? _PyObject_GetDictPtr(o->object) : nullptr;
  const bool with_dict = o->attributes || (place && *place);
  if (with_dict && (!a || !Py_TYPE(a)->tp_descr_set || PyFunction_Check(a))) {
    if (is_name(name, "__dict__")) stop("native-object", {{"class", "Tensor"}, {"name", "__dict__"}});
    // A method is hardly ever hidden by an attribute of the instance: that is looked at only where it is.
    if (o->attributes || !a || PyDict_GetItem(*place, name))
      if (Value* v = dict_get(tensor_dict(o), name)) return v;
  }
  if (!a) {
    if (o->source >= 0 && !with_dict) guard(StepKind::kNoInstanceDict, o->source);
    if (missing) {
      *missing = true;
      return nullptr;
    }
    quiet("AttributeError", true);
  }
  if (is_function_like(a) || is_property(a) || Py_TYPE(a) == &PyStaticMethod_Type || Py_TYPE(a) == &PyClassMethod_Type)
    return bind(a, o, o->type, name);
  if (guard::is_plain_constant(a)) return constant(a);
  stop("descriptor", {{"class", "Tensor"}, {"name", std::string(py::utf8(name))}, {"descriptor", Py_TYPE(a)->tp_name}});
}

// ---------------------------------------------------------------- setting

}  // namespace breakline::trace
