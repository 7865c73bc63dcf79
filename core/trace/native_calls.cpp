// SPDX-License-Identifier: GPL-3.0-or-later
// Calls that are made while tracing: functions of the standard library whose answer depends on their
// arguments alone, and questions about the process whose answer a guard asks again.
#include <algorithm>
#include <array>
#include <string_view>

#include "core/guard/equality.h"
#include "core/trace/inline_rules.h"
#include "core/trace/numpy_errors.h"
#include "core/trace/tracer.h"
#include "core/trace/types.h"
#include "core/trace/warnings_raised.h"

namespace breakline::trace {

namespace {

/// Immutable classes of the standard library. Not imported here: only what the program has loaded can occur.
struct ClassName {
  const char* module;
  const char* name;
};
constexpr ClassName kValueClasses[] = {
    {"decimal", "Decimal"},
    {"datetime", "date"},
    {"datetime", "time"},
    {"datetime", "datetime"},
    {"datetime", "timedelta"},
    {"datetime", "timezone"},
    {"fractions", "Fraction"},
    {"pathlib", "PurePosixPath"},
    {"pathlib", "PosixPath"},
    {"pathlib._local", "PosixPath"},
    {"pathlib._local", "PurePosixPath"},
    {"pathlib", "Path"},
    {"uuid", "UUID"},
    {"string", "Template"},
    {"_struct", "Struct"},
    {"ipaddress", "IPv4Address"},
};

std::string_view last_part(std::string_view name) {
  size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

bool is_value_class(PyTypeObject* type) {
  static auto* known = new std::unordered_map<PyTypeObject*, py::Ref>;
  if (known->count(type)) return true;
  std::string_view name = last_part(type->tp_name);
  for (const ClassName& c : kValueClasses) {
    if (name != c.name) continue;
    py::Ref module = py::Ref::steal(PyImport_GetModule(py::intern(c.module)));
    py::Ref found = module ? py::Ref::steal(PyObject_GetAttrString(module.get(), c.name)) : py::Ref();
    PyErr_Clear();
    if (found.get() != reinterpret_cast<PyObject*>(type)) continue;
    known->emplace(type, found);
    return true;
  }
  return false;
}

/// Python functions of the standard library without effects, by the end of their file ("re/__init__.py" or
/// the module's name for a frozen one) and qualified name; "X.*" = every method of X, "*" = all.
struct PureFunction {
  const char* file;
  const char* function;
};
constexpr PureFunction kPureFunctions[] = {
    {"re/__init__.py", "match"},
    {"re/__init__.py", "fullmatch"},
    {"re/__init__.py", "search"},
    {"re/__init__.py", "sub"},
    {"re/__init__.py", "subn"},
    {"re/__init__.py", "split"},
    {"re/__init__.py", "findall"},
    {"re/__init__.py", "compile"},
    {"re/__init__.py", "escape"},
    {"posixpath.py", "join"},
    {"posixpath.py", "split"},
    {"posixpath.py", "splitext"},
    {"posixpath.py", "splitdrive"},
    {"posixpath.py", "splitroot"},
    {"posixpath.py", "basename"},
    {"posixpath.py", "dirname"},
    {"posixpath.py", "normpath"},
    {"posixpath.py", "isabs"},
    {"posixpath.py", "normcase"},
    {"posixpath.py", "commonpath"},
    {"genericpath.py", "commonprefix"},
    {"json/__init__.py", "dumps"},
    {"json/__init__.py", "loads"},
    {"textwrap.py", "*"},
    {"string.py", "Template.*"},
    {"string.py", "capwords"},
    {"fractions.py", "*"},
    {"statistics.py", "*"},
    {"pathlib.py", "PurePath.*"},
    {"pathlib/_local.py", "PurePath.*"},
    {"pathlib/_abc.py", "PurePathBase.*"},
    {"uuid.py", "UUID.*"},
    {"base64.py", "*"},
    {"colorsys.py", "*"},
    {"html/__init__.py", "*"},
    {"shlex.py", "split"},
    {"shlex.py", "quote"},
    {"shlex.py", "join"},
    {"difflib.py", "get_close_matches"},
    {"ipaddress.py", "*"},
    {"urllib/parse.py", "*"},
    {"fnmatch.py", "*"},
    {"numbers.py", "*"},
    {"ast.py", "literal_eval"},
    {"inspect.py", "cleandoc"},
};

/// Modules of C with functions of that kind.
constexpr std::array<std::string_view, 8> kPureModules = {"_struct", "_json",   "binascii",    "unicodedata",
                                                          "_sre",    "_string", "_statistics", "_codecs"};
/// A function by its module, or the end of its file, and name.
struct Query {
  const char* module;
  const char* name;
};
/// Functions of that kind in modules that have others.
constexpr Query kPureNatives[] = {{"sys", "getsizeof"}, {"sys", "intern"}, {"posix", "fspath"}};

/// Functions of numpy that read their arguments and nothing else, besides its ufuncs.
constexpr std::array<std::string_view, 24> kNumpyFunctions = {"prod", "sum",    "mean",   "max",   "min",   "amax", "amin",      "ptp",
                                                              "std",  "var",    "median", "round", "around", "clip", "dot",       "vdot",
                                                              "all",  "any",    "argmax", "argmin", "size",  "ndim", "count_nonzero", "trace"};

/// Questions about the process: no effects, and the answer may change between calls.
constexpr Query kQueries[] = {
    {"posix", "getpid"},
    {"posix", "getppid"},
    {"posix", "getcwd"},
    {"posix", "cpu_count"},
    {"_thread", "get_ident"},
    {"_thread", "get_native_id"},
    {"sys", "getrecursionlimit"},
    {"sys", "getdefaultencoding"},
    {"sys", "getfilesystemencoding"},
    {"sys", "getswitchinterval"},
    {"gc", "isenabled"},
    {"gc", "get_threshold"},
    {"_abc", "get_cache_token"},
    {"sys", "is_finalizing"},
    {"genericpath.py", "exists"},
    {"genericpath.py", "isfile"},
    {"genericpath.py", "isdir"},
    {"tempfile.py", "gettempdir"},
    {"logging/__init__.py", "getLogger"},
    {"platform.py", "system"},
    {"platform.py", "machine"},
    {"platform.py", "python_version"},
    {"posixpath.py", "expanduser"},
    {"posixpath.py", "abspath"},
    {"posixpath.py", "relpath"},
    {"functools.py", "singledispatch.<locals>.dispatch"},
    {"importlib/util.py", "find_spec"},
    {"importlib/metadata/__init__.py", "version"},
    {"torch/cuda/__init__.py", "is_available"},
    {"torch/cuda/__init__.py", "device_count"},
    {"torch/cuda/__init__.py", "is_initialized"},
    {"torch/backends/mps/__init__.py", "is_available"},
    {"torch/xpu/__init__.py", "is_available"},
    {"torch/onnx/__init__.py", "is_in_onnx_export"},
    {"torch/fx/_symbolic_trace.py", "is_fx_tracing"},
    {"torch/fx/_symbolic_trace.py", "is_fx_symbolic_tracing"},
    {"torch/autograd/__init__.py", "_is_checkpoint_valid"},
};

bool file_is(std::string_view file, std::string_view end) {
  if (file.starts_with("<frozen ")) return file.substr(8, file.size() - 9) == end.substr(0, end.size() - 3);
  if (!file.ends_with(end) || file.size() <= end.size() || file[file.size() - end.size() - 1] != '/') return false;
  return file.find("-packages/") == std::string_view::npos || (end.starts_with("torch/") && is_torch_file(std::string(file)));
}

bool function_is(std::string_view name, std::string_view wanted) {
  if (wanted == "*") return name.find("<locals>") == std::string_view::npos;
  if (wanted.ends_with(".*"))
    return name.starts_with(wanted.substr(0, wanted.size() - 1)) &&
           name.find("<locals>") == std::string_view::npos;
  return name == wanted;
}

/// What a table says of a Python function, once for each code object (which is kept alive).
template <class Row, size_t N>
bool listed(const Row (&rows)[N], PyObject* function, std::unordered_map<PyCodeObject*, bool>& known,
            const char* Row::*file, const char* Row::*name) {
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  auto [it, fresh] = known.try_emplace(code, false);
  if (!fresh) return it->second;
  Py_INCREF(code);
  std::string_view path = py::utf8(code->co_filename), qualname = py::utf8(code->co_qualname);
  return it->second = std::any_of(std::begin(rows), std::end(rows), [&](const Row& r) {
           return file_is(path, r.*file) && function_is(qualname, r.*name);
         });
}

std::string_view module_of(PyObject* native) {
  PyObject* m = reinterpret_cast<PyCFunctionObject*>(native)->m_module;
  return m && PyUnicode_Check(m) ? py::utf8(m) : std::string_view();
}

bool is_query(PyObject* o) {
  if (PyFunction_Check(o)) {
    static auto* known = new std::unordered_map<PyCodeObject*, bool>;
    if (!listed(kQueries, o, *known, &Query::module, &Query::name)) return false;
    // What single dispatch remembers lies in a dict that may be somebody's own.
    PyObject* closure = PyFunction_GET_CLOSURE(o);
    for (Py_ssize_t i = 0; closure && i < PyTuple_GET_SIZE(closure); ++i) {
      PyObject* content = PyCell_GET(PyTuple_GET_ITEM(closure, i));
      if (content && PyObject_HasAttrString(content, "__setitem__") && !PyDict_CheckExact(content) &&
          std::string_view(Py_TYPE(content)->tp_name) != "WeakKeyDictionary")
        return false;
    }
    return true;
  }
  if (!PyCFunction_Check(o)) return false;
  std::string_view module = module_of(o), name = reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name;
  return std::any_of(std::begin(kQueries), std::end(kQueries),
                     [&](const Query& q) { return module == q.module && name == q.name; });
}

/// Values and containers of values: nothing in it runs code of the user's.
bool is_data(PyObject* o, int depth = 0) {
  if (guard::is_plain_constant(o) || is_fixed_native_type(Py_TYPE(o)) || std::string_view(Py_TYPE(o)->tp_name) == "torch.Size") return true;
  if (depth > 40) return false;
  if (PyList_CheckExact(o) || PyTuple_CheckExact(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i)
      if (!is_data(PySequence_Fast_GET_ITEM(o, i), depth + 1)) return false;
    return true;
  }
  if (PyDict_CheckExact(o)) {
    PyObject *k, *v;
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, &k, &v);)
      if (!is_data(k, depth + 1) || !is_data(v, depth + 1)) return false;
    return true;
  }
  return false;
}

/// What a method of logging.Logger asks or does first.
struct LoggerMethod {
  const char* name;
  int level;  ///< of the message; 0 = the first argument
  bool asks;  ///< returns whether that level is on
};
constexpr LoggerMethod kLoggerMethods[] = {
    {"Logger.isEnabledFor", 0, true}, {"Logger.debug", 10, false}, {"Logger.info", 20, false},
    {"Logger.warning", 30, false},    {"Logger.error", 40, false}, {"Logger.critical", 50, false},
    {"Logger.exception", 40, false},  {"Logger.log", 0, false},
};

const LoggerMethod* logger_method(PyObject* function) {
  if (!PyFunction_Check(function)) return nullptr;
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
  std::string_view name = py::utf8(code->co_qualname);
  if (!name.starts_with("Logger.") || !file_is(py::utf8(code->co_filename), "logging/__init__.py"))
    return nullptr;
  for (const LoggerMethod& m : kLoggerMethods)
    if (name == m.name) return &m;
  return nullptr;
}

}  // namespace

static bool is_fixed_by_name(PyTypeObject* type) {
  std::string_view name = type->tp_name;
  if (guard::is_numpy_scalar_type(type) || (name.starts_with("numpy.dtypes.") && name != "numpy.dtypes.VoidDType")) return true;
  if (name == "torch.finfo" || name == "torch.iinfo" || name == "re.Pattern" || name == "re.Match")
    return true;
  if (name == "finfo") {
    py::Ref module = py::Ref::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__module__"));
    PyErr_Clear();
    if (module && PyUnicode_Check(module.get()) && py::utf8(module.get()).starts_with("numpy")) return true;
  }
  return is_value_class(type);
}

bool is_fixed_native_type(PyTypeObject* type) {
  static TypeAnswers known;
  return known.of(type, [type] { return is_fixed_by_name(type); });
}

bool is_type_alias(PyObject* object) {
  static PyTypeObject* union_type = [] {
    py::Ref m = py::Ref::steal(PyImport_ImportModule("types"));
    return m ? reinterpret_cast<PyTypeObject*>(PyObject_GetAttrString(m.get(), "UnionType")) : nullptr;
  }();
  return Py_TYPE(object) == &Py_GenericAliasType || Py_TYPE(object) == union_type;
}

bool is_property(PyObject* object) {
  PyTypeObject* t = Py_TYPE(object);
  return t == &PyProperty_Type || (t->tp_descr_get == PyProperty_Type.tp_descr_get && t->tp_descr_set == PyProperty_Type.tp_descr_set);
}

bool is_typing_object(PyObject* object) {
  PyTypeObject* t = Py_TYPE(object);
  if (std::string_view(t->tp_name).starts_with("typing.")) return true;
  if (!(t->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  PyObject* module = py::type_lookup(t, py::intern("__module__"));
  return module && PyUnicode_Check(module) && PyUnicode_CompareWithASCIIString(module, "typing") == 0;
}

bool is_numpy_function(PyObject* o) {
  const std::string_view name = Py_TYPE(o)->tp_name;
  return name == "numpy.ufunc" || name == "numpy._ArrayFunctionDispatcher";
}

bool is_pure_function(PyObject* function) {
  if (PyFunction_Check(function)) {
    static auto* known = new std::unordered_map<PyCodeObject*, bool>;
    return listed(kPureFunctions, function, *known, &PureFunction::file, &PureFunction::function);
  }
  if (!PyCFunction_Check(function)) return false;
  auto has = [](const auto& names, std::string_view n) {
    return std::find(names.begin(), names.end(), n) != names.end();
  };
  std::string_view module = module_of(function);
  const std::string_view name = reinterpret_cast<PyCFunctionObject*>(function)->m_ml->ml_name;
  return has(kPureModules, module) ||
         std::any_of(std::begin(kPureNatives), std::end(kPureNatives),
                     [&](const Query& q) { return module == q.module && name == q.name; });
}

bool Tracer::data_arguments(const Values& args, const Keywords& keywords, Values& values, Keywords& words) {
  auto as_data = [&](Value* v) -> Value* {
    force(v);
    if (v->kind == Kind::kTensor || v->kind == Kind::kIterator || v->kind == Kind::kGenerator) return nullptr;
    PyObject* o = constant_copy(v);
    if (!o || !is_data(o)) return nullptr;
    return v->kind == Kind::kConstant ? v : constant(o);
  };
  for (Value* v : args) {
    Value* d = as_data(v);
    if (!d) return false;
    values.push_back(d);
  }
  for (auto& [name, v] : keywords) {
    Value* d = as_data(v);
    if (!d) return false;
    words.emplace_back(name, d);
  }
  return true;
}

Value* Tracer::call_data(PyObject* callable, const Values& args, const Keywords& keywords) {
  Values values;
  Keywords words;
  if (!data_arguments(args, keywords, values, words)) return nullptr;
  std::vector<PyObject*> operands;
  for (Value* v : values) operands.push_back(v->object);
  py::Ref names;
  if (!words.empty()) {
    names = py::check(PyTuple_New(static_cast<Py_ssize_t>(words.size())));
    for (size_t i = 0; i < words.size(); ++i) {
      PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i), Py_NewRef(words[i].first));
      operands.push_back(words[i].second->object);
    }
  }
  PyObject* r;
  {
    WarningsRaised warned;
    r = PyObject_Vectorcall(callable, operands.data(), values.size(), names.get());
  }
  if (!r && take_warning()) stop("warning", {{"qualname", name_of(callable)}});
  return wrap(r);
}

Value* Tracer::query(PyObject* callable, const std::vector<PyObject*>& args) {
  py::Ref call = py::check(PyTuple_New(static_cast<Py_ssize_t>(args.size() + 1)));
  PyTuple_SET_ITEM(call.get(), 0, Py_NewRef(callable));
  for (size_t i = 0; i < args.size(); ++i)
    PyTuple_SET_ITEM(call.get(), static_cast<Py_ssize_t>(i + 1), Py_NewRef(args[i]));
  py::Ref parts = py::check(PyTuple_GetSlice(call.get(), 1, PyTuple_GET_SIZE(call.get())));
  py::Ref answer = py::Ref::steal(PyObject_CallObject(callable, parts.get()));
  if (!answer) raise_pending("query");
  SourceId source = child(guard::SourceKind::kQuery, guard::kNoSource, keep_for_trace(call));
  const bool plain = guard::is_plain_constant(answer.get());
  if (!plain) {
    // Only an object that is given again can be guarded.
    py::Ref again = py::Ref::steal(PyObject_CallObject(callable, parts.get()));
    PyErr_Clear();
    if (again.get() != answer.get()) return nullptr;
  }
  guard(plain ? guard::StepKind::kEqual : guard::StepKind::kIdentity, source, answer.get());
  if (plain || PyFunction_Check(answer.get()) || PyType_Check(answer.get())) return constant(answer.get());
  return live(keep_for_trace(answer), source);
}

Value* Tracer::call_logger(PyObject* function, Values& args) {
  const LoggerMethod* m = logger_method(function);
  if (!m || args.empty()) return nullptr;
  Value* logger = force(args[0]);
  if (logger->kind != Kind::kLive || logger->source < 0) return nullptr;
  PyObject* asks = lookup(type_of(logger), py::intern("isEnabledFor"));
  const LoggerMethod* own = asks ? logger_method(asks) : nullptr;
  if (!own || !own->asks || (m->asks && args.size() != 2)) return nullptr;
  PyObject* level = m->level          ? keep(PyLong_FromLong(m->level))
                    : args.size() > 1 ? constant_of(args[1])
                                      : nullptr;
  if (!level || !PyLong_CheckExact(level)) return nullptr;
  py::Ref on = py::Ref::steal(PyObject_CallFunctionObjArgs(asks, logger->object, level, nullptr));
  if (!on || !PyBool_Check(on.get())) {
    PyErr_Clear();
    return nullptr;
  }
  SourceId source =
      sources_.child(guard::SourceKind::kExpression, logger->source, asks, 0, object_source(level));
  guard(guard::StepKind::kIdentity, source, on.get());
  if (m->asks) return boolean(on.get() == Py_True);
  return on.get() == Py_True ? nullptr : none();
}

Value* Tracer::call_numpy(PyObject* o, const Values& args, const Keywords& keywords) {
  if (std::string_view(Py_TYPE(o)->tp_name) != "numpy.ufunc") {
    py::Ref name = py::Ref::steal(PyObject_GetAttrString(o, "__name__"));
    PyErr_Clear();
    if (!name || !PyUnicode_Check(name.get()) ||
        std::find(kNumpyFunctions.begin(), kNumpyFunctions.end(), py::utf8(name.get())) == kNumpyFunctions.end())
      return nullptr;
  }
  NumpyErrors raising(true);
  WarningsRaised warned;
  if (!raising.set()) return nullptr;
  py::Ref result;
  Values values;
  Keywords words;
  if (data_arguments(args, keywords, values, words)) {
    py::Ref operands = py::check(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
    for (size_t i = 0; i < values.size(); ++i) PyTuple_SET_ITEM(operands.get(), static_cast<Py_ssize_t>(i), Py_NewRef(values[i]->object));
    py::Ref named = py::check(PyDict_New());
    for (auto& [name, v] : words) PyDict_SetItem(named.get(), name, v->object);
    result = py::Ref::steal(PyObject_Call(o, operands.get(), named.get()));
  }
  PyErr_Clear();
  if (!result || !guard::is_plain_constant(result.get())) return nullptr;
  return constant(keep_for_trace(result));
}

/// Functions of numpy that make an array of plain data; nobody else has it.
bool makes_an_array(PyObject* o) {
  constexpr std::array<std::string_view, 10> kMakers = {"zeros", "ones", "full", "arange", "linspace", "logspace", "eye", "identity", "array", "tri"};
  const bool function = PyFunction_Check(o), native = PyCFunction_Check(o);
  if (!function && !native && !is_numpy_function(o)) return false;
  py::Ref name = py::Ref::steal(PyObject_GetAttrString(o, "__name__")), module = py::Ref::steal(PyObject_GetAttrString(o, "__module__"));
  PyErr_Clear();
  return name && module && PyUnicode_Check(name.get()) && PyUnicode_Check(module.get()) &&
         PyUnicode_CompareWithASCIIString(module.get(), "numpy") == 0 &&
         std::find(kMakers.begin(), kMakers.end(), py::utf8(name.get())) != kMakers.end();
}

Value* Tracer::new_array(PyObject* o, const Values& args, const Keywords& keywords) {
  Values values;
  Keywords words, types;
  for (auto& [name, v] : keywords) {
    PyObject* c = constant_of(v);
    if (!c || !(PyType_Check(c) || guard::is_plain_constant(c))) return nullptr;
    types.emplace_back(name, v);
  }
  if (!data_arguments(args, {}, values, words)) return nullptr;
  py::Ref maker = py::Ref::borrow(o);
  if (!types.empty()) {
    py::Ref m = py::check(PyImport_ImportModule("functools")), partial = py::check(PyObject_GetAttrString(m.get(), "partial"));
    py::Ref of = py::check(PyTuple_Pack(1, o)), named = py::check(PyDict_New());
    for (auto& [name, v] : types) PyDict_SetItem(named.get(), name, v->object);
    maker = py::check(PyObject_Call(partial.get(), of.get(), named.get()));
  }
  py::Ref call = py::check(PyTuple_New(static_cast<Py_ssize_t>(values.size() + 1)));
  PyTuple_SET_ITEM(call.get(), 0, maker.release());
  for (size_t i = 0; i < values.size(); ++i) PyTuple_SET_ITEM(call.get(), static_cast<Py_ssize_t>(i + 1), Py_NewRef(values[i]->object));
  py::Ref parts = py::check(PyTuple_GetSlice(call.get(), 1, PyTuple_GET_SIZE(call.get())));
  WarningsRaised warned;
  py::Ref made = py::Ref::steal(PyObject_CallObject(PyTuple_GET_ITEM(call.get(), 0), parts.get()));
  PyErr_Clear();
  if (!made || std::string_view(Py_TYPE(made.get())->tp_name) != "numpy.ndarray") return nullptr;
  PyObject* example = keep_for_trace(made);
  // Each call of the maker gives another array: the number tells them apart.
  Value* v = live(example, child(guard::SourceKind::kQuery, guard::kNoSource, keep_for_trace(call), ++arrays_made_));
  need(v->source);
  return v;
}

namespace {

/// A function of numpy in C that is no ufunc and that arrays may not override: np.asarray.
bool is_of_numpy(PyObject* o) {
  PyObject* module = PyCFunction_Check(o) ? reinterpret_cast<PyCFunctionObject*>(o)->m_module : nullptr;
  return module && PyUnicode_Check(module) && is_name(module, "numpy");
}

bool is_live_array(Value* v) {
  return v->kind == Kind::kLive && v->object && std::string_view(Py_TYPE(v->object)->tp_name) == "numpy.ndarray";
}

}  // namespace

bool may_answer_while_tracing(PyObject* f) {
  return makes_an_array(f) || is_numpy_function(f) || is_query(f) || logger_method(f) || is_pure_function(f);
}

Value* Tracer::call_while_tracing(PyObject* o, Values& args, Keywords& keywords) {
  const bool numpy = is_numpy_function(o);
  if (numpy || is_of_numpy(o)) {
    bool tensors = false;
    for (Value* v : args) tensors = tensors || (torch::available() && holds_tensor(v)) || (numpy && is_live_array(v));
    if (tensors)
      if (Value* made = call_of_made(o, args, keywords)) return made;
  }
  if (makes_an_array(o))
    if (Value* made = new_array(o, args, keywords)) return made;
  if (numpy) return call_numpy(o, args, keywords);
  if (is_query(o)) {
    Values values;
    Keywords words;
    std::vector<PyObject*> operands;
    bool known = keywords.empty();
    for (Value* v : args) {
      PyObject* c = constant_of(v);
      known = known && c && (guard::is_plain_constant(c) || PyType_Check(c));
      if (known) operands.push_back(c);
    }
    return known ? query(o, operands) : nullptr;
  }
  if (Value* r = call_logger(o, args)) return r;
  if (PyCFunction_Check(o) && module_of(o) == "sys")  // how large a container is depends on how it came about
    for (Value* v : args)
      if (PyObject* c = constant_of(v); !c || !guard::is_plain_constant(c)) return nullptr;
  return is_pure_function(o) ? call_data(o, args, keywords) : nullptr;
}

}  // namespace breakline::trace
