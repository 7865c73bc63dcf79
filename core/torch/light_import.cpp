// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/torch/light_import.h"

#include "core/python/ref.h"

namespace breakline::torch {
namespace {

/// enter() puts stand-ins in place of the modules that are not loaded; leave() takes them away again, and with
/// them what others have remembered of them.
constexpr const char* kSource = R"(
import importlib, sys, threading, types

DYNAMO, SYMBOLS, SYMPY = names = "torch._dynamo", "torch.fx.experimental.symbolic_shapes", "sympy"
touched = []   # functions that remember what `disable` gave them
before = 0     # how many modules there were when the stand-ins came
asking = None  # the thread that the stand-ins are for; all others are led to the true modules


def real(name, attribute):
    """An attribute of the true module, which takes the stand-in's place."""
    if sys.modules.get(name) is stand_ins[name]:
        del sys.modules[name]
    return getattr(importlib.import_module(name), attribute)


def stand_in(name):
    module = types.ModuleType(name)

    def answer(attribute):
        if attribute in members[name] and asking == threading.get_ident():
            return members[name][attribute]
        # A package's path is asked for by the import of a part of it; other such names by whoever looks through sys.modules.
        if attribute.startswith("__") and not (attribute == "__path__" and name == SYMPY):
            raise AttributeError(attribute)
        return real(name, attribute)

    module.__getattr__ = answer
    return module


def disable(fn=None, recursive=True, **_):
    touched.append(fn)
    return fn


def plain(name, kinds, answer=lambda value: value):
    """A question about a size or a condition, which for a plain number or bool is that value itself."""

    def ask(value, *more):
        return answer(value) if type(value) in kinds else real(SYMBOLS, name)(value, *more)

    ask.__name__ = name
    return ask


def joined(name, word):
    def join(*values):
        return word(values) if values and all(type(value) is bool for value in values) else real(SYMBOLS, name)(*values)

    return join


def sym_eq(a, b):
    if type(a) is int and type(b) is int:
        return a == b
    if type(a) in (tuple, list) and type(b) in (tuple, list) and all(type(value) is int for value in (*a, *b)):
        return list(a) == list(b)
    return real(SYMBOLS, "sym_eq")(a, b)


conditions = ("expect_true", "guard_bool", "guard_or_false", "guard_or_true", "guard_size_oblivious", "statically_known_true")
members = {
    DYNAMO: dict(disable=disable),
    SYMPY: {name: type(name, (), {}) for name in ("Basic", "Expr", "Symbol", "Integer")},
    SYMBOLS: dict(sym_eq=sym_eq, sym_and=joined("sym_and", all), sym_or=joined("sym_or", any), guard_int=plain("guard_int", (int,)),
                  statically_known_false=plain("statically_known_false", (bool,), lambda value: not value),
                  is_nested_int=plain("is_nested_int", (int, float), lambda value: False), has_guarding_hint=plain("has_guarding_hint", (int, bool), lambda value: True),
                  guarding_hint_or_throw=plain("guarding_hint_or_throw", (int, bool)),
                  _advise_is_size=plain("_advise_is_size", (int,), lambda value: None), **{name: plain(name, (bool,)) for name in conditions}),
}
stand_ins = {name: stand_in(name) for name in names}
own = {id(value): (name, key) for name in names for key, value in members[name].items()}


def enter():
    global before, asking
    asking = threading.get_ident()
    absent = [name for name in names if name not in sys.modules]
    before = len(sys.modules)
    for name in absent:
        sys.modules[name] = stand_ins[name]


def leave():
    global asking
    asking = None
    used = [name for name in names if sys.modules.get(name) is stand_ins[name]]
    for name in used:
        del sys.modules[name]
    for fn in touched:
        vars(fn).pop("__dynamo_disable", None)
    touched.clear()
    if len(sys.modules) > before:
        settle(list(sys.modules.items())[before:])


def settle(loaded):
    """Modules that were loaded meanwhile keep what they have imported: the true things then."""
    for name, module in loaded:
        for key, value in list(getattr(module, "__dict__", {}).items()):
            if id(value) in own:
                setattr(module, key, real(*own[id(value)]))
            elif any(value is stand_in for stand_in in stand_ins.values()):
                setattr(module, key, importlib.import_module(value.__name__))
        if name.startswith("torch."):
            importlib.import_module(SYMBOLS)  # which it may reach by its full name
)";

struct StandIns {
  PyObject* enter = nullptr;
  PyObject* leave = nullptr;
};

/// Made once, never freed. Null members when they could not be made.
const StandIns& stand_ins() {
  static const StandIns made = [] {
    StandIns s;
    const py::Ref scope = py::Ref::steal(PyDict_New());
    const py::Ref builtins = py::Ref::borrow(PyEval_GetBuiltins());
    if (scope) PyDict_SetItemString(scope.get(), "__builtins__", builtins.get());
    const py::Ref done = scope ? py::Ref::steal(PyRun_String(kSource, Py_file_input, scope.get(), scope.get())) : py::Ref();
    if (done) {
      s.enter = Py_XNewRef(PyDict_GetItemString(scope.get(), "enter"));
      s.leave = Py_XNewRef(PyDict_GetItemString(scope.get(), "leave"));
    }
    PyErr_Clear();
    return s;
  }();
  return made;
}

/// The modules that stand-ins may replace; once all of them are loaded there is nothing to do.
constexpr const char* kNames[] = {"torch._dynamo", "torch.fx.experimental.symbolic_shapes", "sympy"};

}  // namespace

LightImport::LightImport() {
  PyObject* modules = PyImport_GetModuleDict();
  bool all = true;
  for (const char* name : kNames) all = all && PyDict_GetItemString(modules, name);
  if (all) return;
  const StandIns& s = stand_ins();
  if (!s.enter || !s.leave) return;
  active_ = static_cast<bool>(py::Ref::steal(PyObject_CallNoArgs(s.enter)));
  if (!active_) PyErr_Clear();
}

LightImport::~LightImport() {
  if (!active_) return;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  const py::Ref done = py::Ref::steal(PyObject_CallNoArgs(stand_ins().leave));
  if (!done) PyErr_Clear();
  PyErr_Restore(type, value, traceback);
}

}  // namespace breakline::torch
