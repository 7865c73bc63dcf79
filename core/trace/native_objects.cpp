// SPDX-License-Identifier: GPL-3.0-or-later
// Objects of C made in a trace whose methods touch nothing but the object: buffers, hashes, seeded random
// generators. A twin does at once what the program does; the exit makes a new object and repeats the history.
#include <algorithm>
#include <string_view>

#include "core/guard/equality.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"

namespace breakline::trace {

namespace {

struct NativeClass {
  const char* module;   ///< of the factory
  const char* name;     ///< of the factory; '*' at the end: any that begins so
  const char* methods;  ///< that may be called, between spaces
};
constexpr NativeClass kNativeClasses[] = {
    {"builtins", "bytearray",
     " append extend insert pop remove reverse clear copy find rfind index rindex count startswith endswith "
     "decode hex strip lstrip rstrip split "
     "replace join upper lower isalpha isdigit isalnum isascii translate __setitem__ __delitem__ __iadd__ "
     "__imul__ "},
    {"builtins", "memoryview", " tobytes tolist hex "},
    {"_io", "BytesIO",
     " write getvalue read read1 readline readlines seek tell truncate close readable writable seekable "
     "flush writelines "},
    {"_io", "StringIO",
     " write getvalue read readline readlines seek tell truncate close readable writable seekable flush "
     "writelines "},
    {"random", "Random",
     " random randint randrange uniform gauss normalvariate choice choices sample seed getrandbits "
     "triangular betavariate expovariate "
     "gammavariate lognormvariate vonmisesvariate paretovariate weibullvariate randbytes "},
    {"_hashlib", "openssl_*", " update digest hexdigest "},
    {"_md5", "md5", " update digest hexdigest "},
    {"_sha2", "sha*", " update digest hexdigest "},
    {"_blake2", "blake2*", " update digest hexdigest "},
};

const NativeClass* class_of_factory(PyObject* factory) {
  std::string_view module, name;
  if (PyType_Check(factory)) {
    name = reinterpret_cast<PyTypeObject*>(factory)->tp_name;
    size_t dot = name.rfind('.');
    module = dot == std::string_view::npos ? "builtins" : name.substr(0, dot);
    if (dot != std::string_view::npos) name = name.substr(dot + 1);
    if (name == "Random") module = "random";
  } else if (PyCFunction_Check(factory)) {
    PyObject* m = reinterpret_cast<PyCFunctionObject*>(factory)->m_module;
    if (!m || !PyUnicode_Check(m)) return nullptr;
    module = py::utf8(m);
    name = reinterpret_cast<PyCFunctionObject*>(factory)->m_ml->ml_name;
  }
  for (const NativeClass& c : kNativeClasses) {
    std::string_view wanted = c.name;
    const bool fits =
        wanted.ends_with("*") ? name.starts_with(wanted.substr(0, wanted.size() - 1)) : name == wanted;
    if (!fits || module != c.module) continue;
    if (name != "Random") return &c;
    py::Ref loaded = py::Ref::steal(PyImport_GetModule(py::intern("random")));
    py::Ref found = loaded ? py::Ref::steal(PyObject_GetAttrString(loaded.get(), "Random")) : py::Ref();
    PyErr_Clear();
    return found.get() == factory ? &c : nullptr;
  }
  return nullptr;
}

bool method_listed(const NativeClass& c, const std::string& name) {
  return std::string_view(c.methods).find(" " + name + " ") != std::string_view::npos;
}

}  // namespace

Value* Tracer::native_object(PyObject* factory, Values& args, Keywords& keywords) {
  const NativeClass* c = class_of_factory(factory);
  if (!c) return nullptr;
  if (std::string_view(c->name) == "Random" && (args.size() != 1 || constant_of(args[0]) == Py_None))
    return nullptr;  // seeded by the system
  Value* made = make(Kind::kNative);
  made->number = static_cast<int>(c - kNativeClasses);
  made->object = factory;
  if (!native_call(made, "", args, keywords)) return nullptr;
  return made;
}

Value* Tracer::native_call(Value* self, const std::string& name, Values& args, Keywords& keywords) {
  const NativeClass& c = kNativeClasses[self->number];
  const bool making = name.empty();
  if (!making && !method_listed(c, name)) return nullptr;
  NativeCall call;
  std::vector<PyObject*> operands;
  auto add = [&](Value* v) {
    force(v);
    if (v->kind == Kind::kNative) {
      call.args.push_back(v);
      operands.push_back(v->object);
      return v != self;
    }
    if (v->kind == Kind::kIterator || v->kind == Kind::kGenerator || v->kind == Kind::kTensor) return false;
    PyObject* o = constant_copy(v);
    if (!o) return false;
    Values one = {v->kind == Kind::kConstant ? v : constant(o)}, data;
    Keywords none;
    if (!data_arguments(one, none, data, none)) return false;
    call.args.push_back(data[0]);
    operands.push_back(data[0]->object);
    return true;
  };
  py::Ref bound;
  if (!making) {
    bound = py::Ref::steal(PyObject_GetAttrString(self->object, name.c_str()));
    if (!bound) raise_pending(name);
  }
  for (size_t i = making ? 0 : 1; i < args.size(); ++i)
    if (!add(args[i])) return nullptr;
  py::Ref names;
  if (!keywords.empty()) {
    names = py::check(PyTuple_New(static_cast<Py_ssize_t>(keywords.size())));
    for (size_t i = 0; i < keywords.size(); ++i) {
      PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i), Py_NewRef(keywords[i].first));
      call.names.push_back(keep_borrowed(keywords[i].first));
      if (!add(keywords[i].second)) return nullptr;
    }
  }
  PyObject* callable = making ? self->object : bound.get();
  py::Ref result = py::Ref::steal(
      PyObject_Vectorcall(callable, operands.data(), operands.size() - keywords.size(), names.get()));
  if (!result) raise_pending(name);
  mutated();
  call.callable = making ? keep_borrowed(self->object) : keep(PyUnicode_InternFromString(name.c_str()));
  self->calls.push_back(std::move(call));
  if (making) {
    self->object = keep_for_trace(result);
    self->type = Py_TYPE(result.get());
    return self;
  }
  if (result.get() == self->object) return self;
  if (PyByteArray_CheckExact(result.get())) {
    PyObject* bytes = keep(py::check(PyBytes_FromObject(result.get())).release());
    Values from = {constant(bytes)};
    Keywords none;
    return native_object(reinterpret_cast<PyObject*>(&PyByteArray_Type), from, none);
  }
  return wrap(result.release());
}

Value* Tracer::native_attribute(Value* self, PyObject* name, bool* missing) {
  std::string n(py::utf8(name));
  if (n == "__class__") return constant(reinterpret_cast<PyObject*>(self->type));
  PyObject* on_type = py::type_lookup(self->type, name);
  if (!on_type) {
    if (!missing) no_attribute(self, name);
    *missing = true;
    return nullptr;
  }
  if (PyFunction_Check(on_type) || Py_TYPE(on_type) == &PyMethodDescr_Type ||
      Py_TYPE(on_type) == &PyWrapperDescr_Type)
    return method(constant(on_type), self);
  py::Ref r = py::Ref::steal(PyObject_GetAttr(self->object, name));
  if (!r || !guard::is_plain_constant(r.get()))
    stop("native-object", {{"class", self->type->tp_name}, {"name", n}});
  return constant(keep_borrowed(r.get()));
}

}  // namespace breakline::trace
