// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/trace/inline_rules.h"

#include <string_view>
#include <unordered_map>

namespace breakline::trace {
namespace {

/// A file prefix list made once from the running interpreter.
struct Places {
  std::string stdlib, site, torch, own;
  PyObject* module_class = nullptr;
};

std::string path_of_module(const char* name) {
  py::Ref module = py::Ref::steal(PyImport_ImportModule(name));
  py::Ref file = module ? py::Ref::steal(PyObject_GetAttrString(module.get(), "__file__")) : py::Ref();
  PyErr_Clear();
  if (!file || !PyUnicode_Check(file.get())) return "";
  std::string path(py::utf8(file.get()));
  return path.substr(0, path.rfind('/') + 1);
}

Places& places() {
  static Places* p = [] {
    auto* made = new Places;
    made->stdlib = path_of_module("os");
    made->own = path_of_module("breakline");
    return made;
  }();
  if (p->torch.empty()) {
    py::Ref torch = py::Ref::steal(PyImport_GetModule(py::intern("torch")));
    PyErr_Clear();
    if (torch) {
      p->torch = path_of_module("torch");
      py::Ref nn = py::Ref::steal(PyObject_GetAttrString(torch.get(), "nn"));
      if (nn) p->module_class = PyObject_GetAttrString(nn.get(), "Module");
      PyErr_Clear();
    }
  }
  return *p;
}

bool starts_with(std::string_view text, std::string_view head) { return text.substr(0, head.size()) == head; }

bool in_standard_library(const Places& p, const std::string& file) {
  if (starts_with(file, "<frozen")) return true;
  return !p.stdlib.empty() && starts_with(file, p.stdlib) && file.find("/site-packages/") == std::string::npos &&
         file.find("/dist-packages/") == std::string::npos;
}

/// Parts of torch whose Python code is traced; everything else of torch is called.
constexpr const char* kTorchInlined[] = {
    "nn/", "functional.py", "_jit_internal.py", "overrides.py", "autograd/grad_mode.py", "amp/autocast_mode.py",
    "_tensor.py", "backends/", "special/", "fft/", "linalg/", "distributions/", "utils/_contextlib.py", "utils/_pytree.py",
    "_refs/", "masked/", "ao/nn/", "_lowrank.py", "cuda/amp/", "cpu/amp/", "_utils.py", "types.py",
    "ao/quantization/stubs.py", "_dynamo/decorators.py", "_dynamo/external_utils.py", "compiler/__init__.py", "utils/_python_dispatch.py",
};
constexpr const char* kTorchNotInlined[] = {
    "nn/parallel/", "nn/parameter.py", "nn/attention/flex_attention.py"};

/// Functions of other Python files that are traced: end of the path → functions by qualified name ("*" = all); those inside
/// them count as well.
struct Helper {
  const char* file;
  const char* function;
};
constexpr Helper kHelpers[] = {
    {"contextlib.py", "*"}, {"_collections_abc.py", "*"}, {"typing.py", "cast"}, {"typing.py", "_BaseGenericAlias.__call__"}, {"typing.py", "get_origin"}, {"typing.py", "get_args"}, {"typing.py", "_should_unflatten_callable_args"}, {"functools.py", "*"},
    {"collections/__init__.py", "*"}, {"operator.py", "*"}, {"types.py", "*"}, {"enum.py", "*"},
    {"dataclasses.py", "replace"}, {"dataclasses.py", "_replace"}, {"dataclasses.py", "fields"}, {"dataclasses.py", "is_dataclass"}, {"dataclasses.py", "_is_dataclass_instance"},
    {"dataclasses.py", "asdict"}, {"dataclasses.py", "_asdict_inner"}, {"dataclasses.py", "astuple"}, {"dataclasses.py", "_astuple_inner"},
    {"numbers.py", "*"}, {"abc.py", "*"}, {"statistics.py", "*"}, {"bisect.py", "*"}, {"heapq.py", "*"},
    {"os.py", "_Environ.*"}, {"os.py", "getenv"}, {"os.py", "_createenviron.<locals>.encode"}, {"os.py", "_createenviron.<locals>.decode"},
    {"inspect.py", "isgeneratorfunction"}, {"inspect.py", "iscoroutinefunction"}, {"inspect.py", "isasyncgenfunction"},
    {"inspect.py", "_has_code_flag"}, {"inspect.py", "_has_coroutine_mark"}, {"inspect.py", "_signature_is_functionlike"},
    {"inspect.py", "isfunction"}, {"inspect.py", "isclass"}, {"inspect.py", "ismethod"}, {"inspect.py", "ismodule"}, {"inspect.py", "isbuiltin"},
    {"inspect.py", "Signature.parameters"}, {"inspect.py", "Signature.return_annotation"}, {"inspect.py", "Parameter.name"},
    {"logging/__init__.py", "Logger.isEnabledFor"}, {"inspect.py", "Signature.bind"}, {"inspect.py", "Signature.bind_partial"}, {"inspect.py", "Signature._bind"},
    {"inspect.py", "BoundArguments.*"}, {"inspect.py", "Parameter.default"}, {"inspect.py", "Parameter.kind"}, {"inspect.py", "Parameter.annotation"},
};
constexpr Helper kTorchHelpers[] = {
    {"__init__.py", "is_tensor"}, {"__init__.py", "is_storage"}, {"__init__.py", "_assert"}, {"__init__.py", "sym_int"},
    {"__init__.py", "sym_float"}, {"__init__.py", "sym_max"}, {"__init__.py", "sym_min"}, {"__init__.py", "sym_not"},
    {"__init__.py", "sym_ite"}, {"__init__.py", "sym_sum"}, {"__init__.py", "are_deterministic_algorithms_enabled"},
    {"__init__.py", "is_deterministic_algorithms_warn_only_enabled"}, {"__init__.py", "get_float32_matmul_precision"},
    {"__init__.py", "is_warn_always_enabled"}, {"__init__.py", "set_default_dtype"}, {"__init__.py", "typename"},
    {"nn/parameter.py", "is_lazy"}, {"__future__.py", "*"},
    {"_functorch/functional_call.py", "functional_call"}, {"jit/__init__.py", "annotate"}, {"jit/_trace.py", "is_tracing"}, {"jit/_script.py", "_unwrap_optional"}, {"jit/_trace.py", "_script_if_tracing.<locals>.wrapper"},
    {"distributed/__init__.py", "is_available"}, {"distributed/distributed_c10d.py", "is_initialized"}, {"distributed/distributed_c10d.py", "_WorldMeta.WORLD"}, {"distributed/distributed_c10d.py", "_World.default_pg"},
    {"fx/graph_module.py", "GraphModule.recompile.<locals>.call_wrapped"}, {"fx/graph_module.py", "_WrappedCall.__call__"},
    {"autograd/function.py", "Function.__init__"}, {"autograd/function.py", "FunctionCtx.save_for_backward"}, {"autograd/function.py", "FunctionCtx.save_for_forward"},
    {"autograd/function.py", "FunctionCtx.mark_dirty"}, {"autograd/function.py", "FunctionCtx.mark_non_differentiable"},
    {"autograd/function.py", "FunctionCtx.set_materialize_grads"}, {"utils/hooks.py", "RemovableHandle.*"},
    {"utils/checkpoint.py", "checkpoint_sequential"}, {"_library/custom_ops.py", "CustomOpDef.__call__"}, {"utils/_foreach_utils.py", "*"}, {"_VF.py", "*"}, {"functional.py", "*"}, {"_linalg_utils.py", "*"},
};

bool names(const Helper& h, const std::string& function) {
  std::string_view wanted = h.function;
  if (wanted.ends_with(".*")) return starts_with(function, wanted.substr(0, wanted.size() - 1));
  return wanted == "*" || function == wanted || starts_with(function, std::string(wanted) + ".<locals>");
}

}  // namespace

bool is_torch_file(const std::string& file) {
  const Places& p = places();
  return !p.torch.empty() && starts_with(file, p.torch);
}

bool is_user_file(const std::string& file) {
  const Places& p = places();
  return !in_standard_library(p, file) && !is_torch_file(file) && (p.own.empty() || !starts_with(file, p.own));
}

bool is_form_code(const bytecode::Code* code) {
  static const std::string file = places().own + "_forms.py";
  return code->file.size() == file.size() && file.size() > 9 && code->file == file;
}

bool is_user_code(const bytecode::Code* code) {
  static auto* known = new std::unordered_map<const bytecode::Code*, bool>;
  auto [it, fresh] = known->try_emplace(code, false);
  if (fresh) it->second = is_user_file(code->file);
  return it->second;
}

bool is_inlined_file(const std::string& file, const std::string& function) {
  const Places& p = places();
  if (in_standard_library(p, file)) {
    const bool frozen = starts_with(file, "<frozen ");  // "<frozen _collections_abc>"
    for (const Helper& h : kHelpers) {
      bool here = file.ends_with(std::string("/") + h.file);
      if (frozen) here = file.substr(8) == std::string(h.file, std::string_view(h.file).size() - 3) + ">";
      if (here && names(h, function)) return true;
    }
    return false;
  }
  if (is_torch_file(file)) {
    std::string_view tail = std::string_view(file).substr(p.torch.size());
    for (const Helper& h : kTorchHelpers)
      if (tail == h.file && names(h, function)) return true;
    for (const char* no : kTorchNotInlined)
      if (starts_with(tail, no)) return false;
    for (const char* yes : kTorchInlined)
      if (starts_with(tail, yes)) return true;
    return tail.find('/') == std::string_view::npos && function == "lu";
  }
  return true;
}

bool is_module(PyObject* object) {
  PyObject* cls = places().module_class;
  return cls && PyType_IsSubtype(Py_TYPE(object), reinterpret_cast<PyTypeObject*>(cls));
}

PyTypeObject* module_class() { return reinterpret_cast<PyTypeObject*>(places().module_class); }

bool is_module_class(PyTypeObject* type) {
  PyObject* cls = places().module_class;
  return cls && PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(cls));
}

py::Ref scripted_function(PyObject* o) {
  if (!std::string_view(Py_TYPE(o)->tp_name).ends_with("ScriptFunction")) return {};
  py::Ref original = py::Ref::steal(PyObject_GetAttrString(o, "_torchdynamo_inline"));
  PyErr_Clear();
  return original && PyFunction_Check(original.get()) ? std::move(original) : py::Ref();
}

}  // namespace breakline::trace
