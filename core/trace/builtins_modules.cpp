// SPDX-License-Identifier: GPL-3.0-or-later
// Table of builtins, and helpers of standard modules.
#include <unordered_map>

#include "core/guard/equality.h"
#include "core/torch/tensor.h"
#include "core/trace/builtins.h"
#include "core/trace/function_parts.h"
#include "core/trace/types.h"

namespace breakline::trace {
namespace {

std::unordered_map<PyObject*, Builtins::Handler>& table() {
  static auto* t = new std::unordered_map<PyObject*, Builtins::Handler>;
  return *t;
}
Value kPushed;

Value* do_reduce(Tracer& t, PyObject*, Values& a, Keywords&) {
  Value* total = a.size() > 2 ? a[2] : nullptr;
  t.each_item(a[1], [&](Value* x) { total = total ? t.call_nested(a[0], {total, x}) : x; });
  if (!total) t.quiet("reduce", true);
  return total;
}
Value* do_chain(Tracer& t, PyObject*, Values& a, Keywords&) {
  Value* it = t.make(Kind::kIterator);
  it->iterator = IteratorKind::kChain;
  it->items = {t.iterator_of(t.tuple(a))};
  return it;
}
Value* do_product(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  std::vector<Values> pools;
  for (Value* v : a) pools.push_back(t.drain(v));
  int64_t times = 1;
  if (!k.empty() && (k.size() > 1 || PyUnicode_CompareWithASCIIString(k[0].first, "repeat") != 0 || !t.int_of(k[0].second, &times) || times < 0))
    t.stop("builtin", {{"function", "itertools.product"}});
  const std::vector<Values> once = pools;
  pools.clear();
  for (; times > 0; --times) pools.insert(pools.end(), once.begin(), once.end());
  Values out;
  std::vector<size_t> at(pools.size(), 0);
  if (pools.empty()) t.quiet("itertools.product");
  auto iterate = [&](Values items) {
    Value* it = t.iterator_of(t.tuple(std::move(items)));
    it->stand_in = true;  // only its own class can make it anew
    it->type = reinterpret_cast<PyTypeObject*>(f);
    it->created_at = t.instruction_of_call();
    return it;
  };
  double count = 1;
  for (const Values& p : pools) count *= static_cast<double>(p.size());
  if (count == 0) return iterate({});
  if (count > 20'000) t.stop("builtin", {{"function", "itertools.product"}, {"arg_types", "many items"}});
  for (;;) {
    Values one;
    for (size_t i = 0; i < pools.size(); ++i) one.push_back(pools[i][at[i]]);
    out.push_back(t.tuple(std::move(one)));
    size_t i = pools.size();
    while (i > 0 && ++at[i - 1] == pools[i - 1].size()) at[--i] = 0;
    if (i == 0) break;
  }
  return iterate(std::move(out));
}
Value* do_operator_binary(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  std::string name = t.name_of(f);
  static const std::unordered_map<std::string, int> kNumbers = {
      {"add", 0}, {"and_", 1}, {"floordiv", 2}, {"lshift", 3}, {"matmul", 4}, {"mul", 5}, {"mod", 6}, {"or_", 7},
      {"pow", 8}, {"rshift", 9}, {"sub", 10}, {"truediv", 11}, {"xor", 12}, {"iadd", 13}, {"iand", 14}, {"ifloordiv", 15},
      {"ilshift", 16}, {"imatmul", 17}, {"imul", 18}, {"imod", 19}, {"ior", 20}, {"ipow", 21}, {"irshift", 22}, {"isub", 23},
      {"itruediv", 24}, {"ixor", 25}};
  if (a.size() != 2 || !k.empty()) t.quiet("operator", true);
  return t.binary(kNumbers.at(name), a[0], a[1]);
}
Value* do_operator_compare(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  std::string name = t.name_of(f);
  static const std::unordered_map<std::string, int> kNumbers = {{"lt", Py_LT}, {"le", Py_LE}, {"eq", Py_EQ},
                                                                {"ne", Py_NE}, {"gt", Py_GT}, {"ge", Py_GE}};
  if (a.size() != 2 || !k.empty()) t.quiet("operator", true);
  return t.compare(kNumbers.at(name), a[0], a[1]);
}
Value* do_getitem(Tracer& t, PyObject*, Values& a, Keywords&) { return t.subscript(a.at(0), a.at(1)); }
Value* do_setitem(Tracer& t, PyObject*, Values& a, Keywords&) {
  t.store_subscript(a.at(0), a.at(1), a.at(2));
  return t.none();
}
Value* do_neg(Tracer& t, PyObject*, Values& a, Keywords&) { return t.unary(bytecode::Op::kUnaryNegative, a.at(0)); }
Value* do_truth(Tracer& t, PyObject*, Values& a, Keywords&) { return t.boolean(t.truth(a.at(0))); }
Value* do_not(Tracer& t, PyObject*, Values& a, Keywords&) { return t.boolean(!t.truth(a.at(0))); }
Value* do_is(Tracer& t, PyObject*, Values& a, Keywords&) { return t.boolean(t.same(a.at(0), a.at(1))); }
Value* do_is_not(Tracer& t, PyObject*, Values& a, Keywords&) { return t.boolean(!t.same(a.at(0), a.at(1))); }
Value* do_contains(Tracer& t, PyObject*, Values& a, Keywords&) { return t.boolean(t.contains(a.at(0), a.at(1))); }
Value* do_index(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  if (Value* known = t.settled_number(a.at(0), nullptr)) return known;
  if (a[0]->kind == Kind::kTensor) t.stop("tensor-item", {{"value", "TensorVariable()"}, {"call", "__index__"}});
  if (Value* m = PyType_IsSubtype(t.type_of(a[0]), &PyLong_Type) ? nullptr : t.special_method(a[0], "__index__")) {
    PyObject* n = t.constant_of(t.call_nested(m, {a[0]}));
    if (!n || !PyLong_CheckExact(n)) t.quiet("__index__ returned another type", true);
    return t.constant(n);
  }
  return t.fold(f, a, k);
}
/// concat and iconcat of two lists or two tuples; operator's own for values; a break for what else may be a sequence.
Value* do_concat(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  const Kind left = t.force(a.at(0))->kind, right = t.force(a.at(1))->kind;
  const bool own_class = a[0]->type || a[1]->type;
  if (left == right && !own_class && (left == Kind::kList || left == Kind::kTuple)) return t.binary(t.name_of(f) == "iconcat" ? 13 : 0, a[0], a[1]);
  for (Value* v : a)
    if (PyObject* c = t.constant_of(v); !c || !guard::is_plain_constant(c)) return Builtins::refuse(t, f, "_operator", a, k);
  return t.fold(f, a, k);
}
Value* do_length_hint(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  const Kind kind = t.force(a.at(0))->kind;
  const bool container = kind == Kind::kList || kind == Kind::kDict || kind == Kind::kSet || (kind == Kind::kTuple && !a[0]->type);
  if (container && a.size() == 1) return t.length(a[0]);
  return Builtins::refuse(t, f, "_operator", a, k);
}
Value* do_cast(Tracer&, PyObject*, Values& a, Keywords&) { return a.at(1); }

/// A function with the parameters of one made in the trace, to be looked at; null when these hold more than constants.
py::Ref signature_of_made(Tracer& t, Value* v) {
  if (v->items.size() > kFunctionParts)
    for (const char* set_later : {"__defaults__", "__kwdefaults__", "__annotations__", "__code__"})
      if (t.dict_get(v->items[kFunctionParts], py::intern(set_later))) return {};
  py::Ref made = py::check(PyFunction_NewWithQualName(v->object, v->globals, v->qualname));
  const auto give = [&](Value* part, int (*set)(PyObject*, PyObject*)) {
    if (!part) return true;
    PyObject* known = t.constant_copy(part);
    if (!known) return false;
    py::check_status(set(made.get(), known));
    return true;
  };
  const auto annotate = [](PyObject* function, PyObject* pairs) {
    py::Ref words = py::Ref::steal(PyDict_Check(pairs) ? Py_NewRef(pairs) : PyDict_New());
    for (Py_ssize_t i = 0; words && PyTuple_Check(pairs) && i + 1 < PyTuple_GET_SIZE(pairs); i += 2)
      if (PyDict_SetItem(words.get(), PyTuple_GET_ITEM(pairs, i), PyTuple_GET_ITEM(pairs, i + 1)) < 0) return -1;
    return words ? PyFunction_SetAnnotations(function, words.get()) : -1;
  };
  if (!give(v->items[0], PyFunction_SetDefaults) || !give(v->items[1], PyFunction_SetKwDefaults) || !give(v->items[3], annotate)) return {};
  if (v->items[2]) {  // as many cells as its code wants; nobody looks into them
    const Py_ssize_t n = PyCode_GetNumFree(reinterpret_cast<PyCodeObject*>(v->object));
    py::Ref cells = py::check(PyTuple_New(n));
    for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(cells.get(), i, py::check(PyCell_New(nullptr)).release());
    py::check_status(PyFunction_SetClosure(made.get(), cells.get()));
  }
  return made;
}

/// The function, class or bound method that a call of inspect is about, when it is known; a method is bound to None.
py::Ref inspected(Tracer& t, Values& a, Keywords& k) {
  py::Ref subject;
  if (a.size() != 1 || !k.empty()) return subject;
  Value* v = t.force(a[0]);
  // functools.wraps: what is asked about is the function inside.
  for (int depth = 0; v->kind == Kind::kFunction && v->attributes && depth < 20; ++depth) {
    if (t.dict_get(v->attributes, py::intern("__signature__"))) return subject;
    Value* inside = t.dict_get(v->attributes, py::intern("__wrapped__"));
    if (!inside) break;
    v = t.force(inside);
  }
  if (v->kind == Kind::kFunction) {
    subject = signature_of_made(t, v);
  } else if (v->kind == Kind::kMethod) {
    PyObject* function = t.constant_of(v->items[0]);
    if (function && PyFunction_Check(function)) subject = py::check(PyMethod_New(function, Py_None));
  } else if (PyObject* o = t.constant_of(v); o && (PyFunction_Check(o) || PyType_Check(o))) {
    subject = py::Ref::borrow(o);
  } else if (v->function_live) {
    // Its code is guarded; what else the answer may depend on is not there.
    const auto empty = [&](const char* part) { return t.truth(t.attribute(v, py::intern(part))) == 0; };
    if (empty("__defaults__") && empty("__kwdefaults__") && empty("__annotations__") && empty("__dict__"))
      subject = py::Ref::borrow(v->object);
  }
  return subject;
}

/// inspect.signature of a function that is known: made now; it depends on the function alone.
Value* do_signature(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  py::Ref subject = inspected(t, a, k);
  if (!subject) return t.enter_python(f, a, k);
  py::Ref made = py::Ref::steal(PyObject_CallOneArg(f, subject.get()));
  if (!made) t.quiet("inspect.signature", true);
  SourceId source = t.object_source(made.get());
  return t.live(t.keep_for_trace(made), source);
}

/// inspect.getfullargspec: a fresh named tuple of lists and dicts.
Value* do_argspec(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  py::Ref subject = inspected(t, a, k);
  if (!subject) return t.enter_python(f, a, k);
  py::Ref made = py::Ref::steal(PyObject_CallOneArg(f, subject.get()));
  if (!made) t.quiet("inspect.getfullargspec", true);
  return t.wrap(made.release());
}

/// Logger.debug, .info and so on: a level that is switched off is nothing at all. The rest is the logging module's own.
Value* do_log(Tracer& t, PyObject* f, Values& a, Keywords& k) {
  struct Level {
    const char *name, *constant;
  };
  static constexpr Level kLevels[] = {{"isEnabledFor", nullptr}, {"debug", "DEBUG"}, {"info", "INFO"}, {"warning", "WARNING"}, {"error", "ERROR"},
                                      {"critical", "CRITICAL"}, {"exception", "ERROR"}, {"log", nullptr}};
  Value* level = nullptr;
  for (const Level& l : kLevels)
    if (t.name_of(f).ends_with(std::string(".") + l.name)) {
      py::Ref module = py::check(PyImport_ImportModule("logging"));
      level = l.constant ? t.constant_new(PyObject_GetAttrString(module.get(), l.constant)) : a.size() > 1 ? a[1] : nullptr;
    }
  if (!level || a.empty()) return t.enter_python(f, a, k);
  Value* self = t.force(a[0]);
  PyObject* number = t.constant_of(level);
  if (self->kind != Kind::kLive || !number || !PyLong_Check(number)) return t.enter_python(f, a, k);
  // Asking fills the logger's cache, which is what the guards look at.
  if (py::Ref on = py::Ref::steal(PyObject_CallMethod(self->object, "isEnabledFor", "O", number)); !on) PyErr_Clear();
  if (t.name_of(f).ends_with(".isEnabledFor")) return t.enter_python(f, a, k);
  if (t.truth(t.call_method(self, "isEnabledFor", {level})) == 0) return t.none();
  return t.enter_python(f, a, k);
}

struct ModuleRow {
  const char* module;
  const char* name;
  Builtins::Handler handler;
};
constexpr ModuleRow kRows[] = {
    {"functools", "reduce", do_reduce}, {"itertools", "chain", do_chain}, {"itertools", "product", do_product},
    {"operator", "getitem", do_getitem},
    {"operator", "setitem", do_setitem}, {"operator", "neg", do_neg}, {"operator", "truth", do_truth}, {"operator", "not_", do_not},
    {"operator", "is_", do_is}, {"operator", "is_not", do_is_not}, {"operator", "contains", do_contains},
    {"operator", "index", do_index}, {"operator", "concat", do_concat}, {"operator", "iconcat", do_concat},
    {"operator", "length_hint", do_length_hint}, {"inspect", "signature", do_signature}, {"inspect", "getfullargspec", do_argspec}, {"typing", "cast", do_cast},
};
constexpr const char* kBinaryNames[] = {"add", "and_", "floordiv", "lshift", "matmul", "mul", "mod", "or_", "pow", "rshift",
                                        "sub", "truediv", "xor", "iadd", "iand", "ifloordiv", "ilshift", "imatmul", "imul",
                                        "imod", "ior", "ipow", "irshift", "isub", "itruediv", "ixor"};

/// Reasons of native callables without a symbolic form, by module and name ("*" = any).
struct Refusal {
  const char* module;
  const char* name;
  const char* reason;
};
constexpr Refusal kRefusals[] = {
    {"builtins", "print", "print"}, {"builtins", "open", "file-io"}, {"builtins", "input", "file-io"}, {"io", "open", "file-io"},
    {"builtins", "exec", "exec"}, {"builtins", "eval", "exec"}, {"builtins", "id", "builtin"}, {"builtins", "compile", "exec"}, {"builtins", "locals", "frame-access"},
    {"builtins", "globals", "frame-access"}, {"builtins", "vars", "frame-access"}, {"builtins", "dir", "frame-access"},
    {"sys", "_getframe", "frame-access"}, {"builtins", "__build_class__", "class-statement"}, {"builtins", "__import__", "import"},
    {"builtins", "*", "builtin"}, {"time", "*", "clock"}, {"_warnings", "*", "warning"}, {"random", "*", "python-random"},
    {"_random", "*", "python-random"}, {"posix", "*", "operating-system"}, {"_thread", "*", "thread"}, {"sys", "*", "c-function"},
};

/// How many positional arguments a callable takes (most -1: any number) and the keywords its symbolic form knows ("*": any). The
/// name is looked up in builtins, or in the module before its dot.
struct Arity {
  const char* name;
  int least, most;
  const char* words = "";
};
constexpr Arity kArities[] = {
    {"isinstance", 2, 2}, {"issubclass", 2, 2}, {"len", 1, 1}, {"iter", 1, 2}, {"next", 1, 2}, {"getattr", 2, 3},
    {"hasattr", 2, 2}, {"setattr", 3, 3}, {"delattr", 2, 2}, {"callable", 1, 1}, {"all", 1, 1}, {"any", 1, 1},
    {"sum", 1, 2, "start"}, {"max", 1, -1, "key default"}, {"min", 1, -1, "key default"}, {"sorted", 1, 1, "key reverse"},
    {"abs", 1, 1}, {"ord", 1, 1}, {"chr", 1, 1}, {"bin", 1, 1}, {"hex", 1, 1}, {"oct", 1, 1}, {"ascii", 1, 1}, {"repr", 1, 1},
    {"format", 1, 2}, {"hash", 1, 1}, {"round", 1, 2}, {"divmod", 2, 2}, {"pow", 2, 3}, {"vars", 0, 1}, {"globals", 0, 0},
    {"list", 0, 1}, {"tuple", 0, 1}, {"set", 0, 1}, {"frozenset", 0, 1}, {"bool", 0, 1}, {"int", 0, 2, "base"}, {"float", 0, 1},
    {"complex", 0, 2, "real imag"}, {"str", 0, 3, "object encoding errors"}, {"bytes", 0, 3, "source encoding errors"},
    {"range", 1, 3}, {"slice", 1, 3}, {"super", 0, 2}, {"zip", 0, -1, "strict"}, {"enumerate", 0, 2, "iterable start"},
    {"reversed", 1, 1}, {"map", 2, -1}, {"filter", 2, 2}, {"dict", 0, 1, "*"}, {"collections.OrderedDict", 0, 1, "*"},
    {"functools.reduce", 2, 3}, {"copy.copy", 1, 1}, {"copy.deepcopy", 1, 2}, {"typing.cast", 2, 2},
    {"operator.getitem", 2, 2}, {"operator.setitem", 3, 3}, {"operator.is_", 2, 2}, {"operator.is_not", 2, 2},
    {"operator.contains", 2, 2}, {"operator.concat", 2, 2}, {"operator.iconcat", 2, 2}, {"operator.length_hint", 1, 2},
    {"itertools.permutations", 1, 2}, {"itertools.combinations", 2, 2},
    {"itertools.combinations_with_replacement", 2, 2}, {"operator.itemgetter", 1, -1}, {"operator.attrgetter", 1, -1},
    {"operator.methodcaller", 1, -1},
};

/// The callable an arity is about, borrowed for good; null where this Python has none.
PyObject* subject_of(std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos)
    return Py_XNewRef(PyDict_GetItemString(PyEval_GetBuiltins(), name.data()));
  py::Ref module = py::Ref::steal(PyImport_ImportModule(std::string(name.substr(0, dot)).c_str()));
  PyObject* found = module ? PyObject_GetAttrString(module.get(), name.data() + dot + 1) : nullptr;
  PyErr_Clear();
  return found;
}

/// A call that the callable itself would refuse, or with keywords that its symbolic form doesn't know.
bool is_odd_call(PyObject* callable, const Values& args, const Keywords& keywords) {
  static const auto& arities = *[] {
    auto* found = new std::unordered_map<PyObject*, const Arity*>;
    for (const Arity& a : kArities)
      if (PyObject* o = subject_of(a.name)) found->emplace(o, &a);
    return found;
  }();
  const int given = static_cast<int>(args.size());
  const auto found = arities.find(callable);
  if (found == arities.end()) {
    if (!PyCFunction_Check(callable)) return false;
    const int flags = PyCFunction_GET_FLAGS(callable);
    return ((flags & METH_O) && given != 1) || ((flags & METH_NOARGS) && given != 0) ||
           (!(flags & METH_KEYWORDS) && !keywords.empty());
  }
  const Arity& arity = *found->second;
  if (given < arity.least || (arity.most >= 0 && given > arity.most)) return true;
  const std::string known = std::string(" ") + arity.words + " ";
  if (known == " * ") return false;
  for (const auto& [name, value] : keywords)
    if (known.find(" " + std::string(py::utf8(name)) + " ") == std::string::npos) return true;
  return false;
}

}  // namespace

void Builtins::add(PyObject* callable, Handler handler) {
  Py_INCREF(callable);
  table()[callable] = handler;
}

void Builtins::add(const char* module, const char* name, Handler handler) {
  py::Ref m = py::Ref::steal(PyImport_ImportModule(module));
  py::Ref f = m ? py::Ref::steal(PyObject_GetAttrString(m.get(), name)) : py::Ref();
  PyErr_Clear();
  if (f) add(f.get(), handler);
}

void add_builtin_modules() {
  for (const ModuleRow& r : kRows) Builtins::add(r.module, r.name, r.handler);
  for (const char* n : {"debug", "info", "warning", "error", "critical", "exception", "log", "isEnabledFor"}) {
    py::Ref logging = py::Ref::steal(PyImport_ImportModule("logging"));
    py::Ref logger = logging ? py::Ref::steal(PyObject_GetAttrString(logging.get(), "Logger")) : py::Ref();
    py::Ref method = logger ? py::Ref::steal(PyObject_GetAttrString(logger.get(), n)) : py::Ref();
    PyErr_Clear();
    if (method) Builtins::add(method.get(), do_log);
  }
  for (const char* n : kBinaryNames) Builtins::add("operator", n, do_operator_binary);
  for (const char* n : {"lt", "le", "eq", "ne", "gt", "ge"}) Builtins::add("operator", n, do_operator_compare);
}

Value* Builtins::pushed() { return &kPushed; }

Value* Builtins::try_call(Tracer& t, PyObject* callable, Values& args, Keywords& keywords) {
  static bool ready = false;
  if (!ready) {
    ready = true;
    add_builtin_functions();
    add_builtin_types();
    add_builtin_modules();
    add_itertools();
    add_frame_builtins();
  }
  auto it = table().find(callable);
  if (it == table().end()) return t.call_form(callable, args, keywords);
  if (is_odd_call(callable, args, keywords)) t.quiet("arguments of " + t.name_of(callable), true);
  return it->second(t, callable, args, keywords);
}

Value* Builtins::refuse(Tracer& t, PyObject* callable, const std::string& module, Values& args, Keywords& keywords) {
  std::string name = t.name_of(callable), types;
  for (Value* v : args) types += (types.empty() ? "" : ", ") + t.describe(v);
  std::string reason = "c-function";
  for (const Refusal& r : kRefusals)
    if (module == r.module && (r.name[0] == '*' || name == r.name)) {
      reason = r.reason;
      break;
    }
  t.stop(reason, {{"function", name}, {"qualname", name}, {"module", module}, {"arg_types", "(" + types + ")"},
                  {"has_kwargs", keywords.empty() ? "False" : "True"}});
}

}  // namespace breakline::trace
