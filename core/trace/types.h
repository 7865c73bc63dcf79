// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <string_view>

#include "core/base/flat_map.h"
#include "core/python/ref.h"

namespace breakline::trace {

/// What was found of a type, until the type changes. GIL.
class TypeAnswers {
 public:
  template <class Find>
  bool of(PyTypeObject* type, Find find) {
    Known& k = known_[MixHash()(type) & (known_.size() - 1)];
    if (k.type != type || !k.version || k.version != type->tp_version_tag) k = {type, type->tp_version_tag, find()};
    return k.answer;
  }

 private:
  struct Known {
    PyTypeObject* type = nullptr;
    unsigned version = 0;
    bool answer = false;
  };
  std::array<Known, 256> known_;
};

PyTypeObject* ordered_dict_type();
PyTypeObject* default_dict_type();
PyTypeObject* deque_type();
/// types.SimpleNamespace
PyTypeObject* namespace_type();
/// dict, OrderedDict or list when `type` is a subclass of one made by a class statement, else null.
PyTypeObject* payload_base(PyTypeObject* type);
/// int, float, complex, str or bytes when `type` is a subclass of one made by a class statement, else null.
PyTypeObject* scalar_base(PyTypeObject* type);
/// A subclass of tuple made by a class statement, whose instances are its items and a dict.
bool is_tuple_class(PyTypeObject* type);
/// Immutable objects that are read like constants: torch.finfo, compiled regular expressions and their matches, decimals, dates,
/// paths, numpy's scalars.
bool is_fixed_native_type(PyTypeObject* type);
/// `list[int]` and `int | None`: never changed once made.
bool is_type_alias(PyObject* object);
bool is_enum_member(PyObject* object);
/// The generator behind the functions of module `random`.
bool is_python_generator(PyObject* object);
/// A property, or an object of a subclass that is read and set as property does it.
bool is_property(PyObject* object);
/// An instance of a class of module `typing`: a TypeVar, `Optional[int]`.
bool is_typing_object(PyObject* object);
/// A function of the standard library whose answer depends on its arguments alone (native_calls.cpp).
bool is_pure_function(PyObject* function);
/// One of numpy's ufuncs or of its functions that arrays may override.
bool is_numpy_function(PyObject* o);
/// functools.partial
PyTypeObject* partial_type();
/// A subclass of Tensor in Python that changes calls through __torch_function__ at most: its tensors are traced.
bool is_traced_subclass(PyTypeObject* type);
/// A name of breakline.polyfills that stands for PyTorch's own handling of overrides; new reference, null when missing.
PyObject* override_helper(const char* name);
/// torch.utils.checkpoint.checkpoint or torch.cond (regions.cpp).
bool is_run_by_torch(PyObject* function);
/// A function of PyTorch that makes tensors of other layouts: quantised, nested (made.cpp).
bool makes_other_tensors(PyObject* function);
/// A name of breakline.polyfills; new reference, null when there is none.
PyObject* polyfill_named(const char* name);
/// Exactly torch.nn.Parameter.
bool is_parameter_class(PyTypeObject* type);

/// A function of the module `operator`; borrowed.
PyObject* operator_function(const char* name);
/// Whether a name (str) is `text`.
inline bool is_name(PyObject* name, const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; }
/// threading.local and its subclasses: their instances have a dict of their own in each thread.
bool is_thread_local(PyTypeObject* type);
/// Whether the type's attribute `name` is the wrapper of exactly this slot function of C.
inline bool is_slot_wrapper(PyTypeObject* type, const char* name, auto* slot) {
  PyObject* own = py::type_lookup(type, py::intern(name));
  return own && Py_TYPE(own) == &PyWrapperDescr_Type &&
         reinterpret_cast<PyWrapperDescrObject*>(own)->d_wrapped == reinterpret_cast<void*>(slot);
}

}  // namespace breakline::trace
