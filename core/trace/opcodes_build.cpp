// SPDX-License-Identifier: GPL-3.0-or-later
// Containers, functions, text.
#include "core/trace/builtins.h"
#include "core/trace/inline_rules.h"
#include "core/trace/mappings.h"
#include "core/trace/opcodes.h"
#include "core/trace/text.h"

namespace breakline::trace {

using bytecode::Instr;
using bytecode::Op;

struct BuildOpcodes {
  static Values take(Tracer& t, int count) {
    Values v;
    for (int i = count; i > 0; --i) v.push_back(t.peek(i));
    return v;
  }
  static void build_tuple(Tracer& t, SymFrame&, const Instr& in) {
    Value* v = t.tuple(take(t, in.arg));
    t.drop(in.arg);
    t.push(v);
  }
  static void build_list(Tracer& t, SymFrame&, const Instr& in) {
    Value* v = t.list(take(t, in.arg));
    t.drop(in.arg);
    t.push(v);
  }
  static void build_set(Tracer& t, SymFrame&, const Instr& in) {
    Value* s = t.new_set();
    for (Value* v : take(t, in.arg)) t.set_apply(s, SetOperation::kAdd, v);
    t.drop(in.arg);
    t.push(s);
  }
  static void build_map(Tracer& t, SymFrame&, const Instr& in) {
    Value* d = t.new_dict();
    d->dict = std::make_unique<DictData>();
    for (int i = in.arg; i > 0; --i) t.dict_set(d, t.peek(2 * i), t.peek(2 * i - 1));
    t.drop(2 * in.arg);
    t.push(d);
  }
  static void build_const_key_map(Tracer& t, SymFrame&, const Instr& in) {
    Value* d = t.new_dict();
    d->dict = std::make_unique<DictData>();
    Values keys = t.drain(t.peek(1));
    for (int i = 0; i < in.arg; ++i) t.dict_set(d, keys[static_cast<size_t>(i)], t.peek(1 + in.arg - i));
    t.drop(in.arg + 1);
    t.push(d);
  }
  static void build_slice(Tracer& t, SymFrame&, const Instr& in) {
    Value* s = t.make(Kind::kSlice);
    s->items = take(t, in.arg);
    if (in.arg == 2) s->items.push_back(t.none());
    t.drop(in.arg);
    t.push(s);
  }
  static void list_append(Tracer& t, SymFrame&, const Instr& in) {
    Value* l = t.force(t.peek(in.arg + 1));
    if (l->kind != Kind::kList) t.stop("opcode", {{"opname", "LIST_APPEND"}});
    t.list_touch(l);
    l->items.push_back(t.peek(1));
    t.drop(1);
  }
  static void set_add(Tracer& t, SymFrame&, const Instr& in) {
    Value* s = t.force(t.peek(in.arg + 1));
    if (s->kind != Kind::kSet) t.stop("opcode", {{"opname", "SET_ADD"}});
    t.set_apply(s, SetOperation::kAdd, t.peek(1));
    t.drop(1);
  }
  static void map_add(Tracer& t, SymFrame&, const Instr& in) {
    t.dict_set(t.force(t.peek(in.arg + 2)), t.peek(2), t.peek(1));
    t.drop(2);
  }
  static void list_extend(Tracer& t, SymFrame&, const Instr& in) {
    Value* l = t.force(t.peek(in.arg + 1));
    if (l->kind != Kind::kList) t.stop("opcode", {{"opname", "LIST_EXTEND"}});
    t.extend_list(l, t.peek(1));
    t.drop(1);
  }
  static void set_update(Tracer& t, SymFrame&, const Instr& in) {
    Value* more = t.force(t.peek(1));
    Value* s = t.force(t.peek(in.arg + 1));
    if (s->kind != Kind::kSet) t.stop("opcode", {{"opname", "SET_UPDATE"}});
    t.set_update(s, "update", more);
    t.drop(1);
  }
  static void dict_update(Tracer& t, SymFrame&, const Instr& in) {
    Value* from = t.force(t.peek(1));
    Value* to = t.force(t.peek(in.arg + 1));
    const bool known = to->kind == Kind::kDict && each_of_mapping(t, from, [&](Value* key, Value* value) {
      if (in.op == Op::kDictMerge && t.dict_get(to, key)) t.quiet("multiple values for keyword argument", true);
      t.dict_set(to, key, value);
    });
    if (!known) t.stop("builtin", {{"function", "dict.update"}, {"arg_types", t.describe(from)}});
    t.drop(1);
  }
  static void list_to_tuple(Tracer& t, SymFrame&, const Instr&) {
    Value* l = t.force(t.peek(1));
    Value* v = t.tuple(t.drain(l));
    t.drop(1);
    t.push(v);
  }
  /// Up to `most` items of what is unpacked; what runs is asked for no more. `rest`: the iterator that has the others, or null.
  static Values first_items(Tracer& t, Value* v, size_t most, Value** rest) {
    t.force(v);
    *rest = nullptr;
    const bool whole = v->kind == Kind::kTuple || v->kind == Kind::kList || v->kind == Kind::kTensor ||
                       (v->kind == Kind::kConstant && PyTuple_Check(v->object));
    if (whole) return t.drain(v->kind == Kind::kTensor ? t.iterator_of(v) : v);
    Values items;
    Value* it = t.iterator_of(v);
    while (items.size() < most) {
      Value* x = t.next_of(it);
      if (!x) return items;
      items.push_back(x);
    }
    *rest = it;
    return items;
  }
  static void unpack_sequence(Tracer& t, SymFrame&, const Instr& in) {
    Value* rest;
    Values items = first_items(t, t.peek(1), static_cast<size_t>(in.arg) + 1, &rest);
    if (static_cast<int>(items.size()) != in.arg) t.quiet("unpack", true);
    t.drop(1);
    for (size_t i = items.size(); i > 0; --i) t.push(items[i - 1]);
  }
  static void unpack_ex(Tracer& t, SymFrame&, const Instr& in) {
    size_t before = static_cast<size_t>(in.arg & 0xff), after = static_cast<size_t>(in.arg >> 8);
    Value* rest;
    Values items = first_items(t, t.peek(1), before, &rest);
    if (rest)
      for (Value* x : t.drain(rest)) items.push_back(x);  // list(rest): asks for an iterator once more
    if (items.size() < before + after) t.quiet("unpack", true);
    t.drop(1);
    for (size_t i = 0; i < after; ++i) t.push(items[items.size() - 1 - i]);
    t.push(t.list(Values(items.begin() + static_cast<std::ptrdiff_t>(before), items.end() - static_cast<std::ptrdiff_t>(after))));
    for (size_t i = before; i > 0; --i) t.push(items[i - 1]);
  }
  static void make_function(Tracer& t, SymFrame& f, const Instr& in) {
    PyObject* code = t.need_constant(t.peek(1), "code");
    Value* fn = t.make(Kind::kFunction);
    fn->object = code;
    fn->stand_in = is_form_code(f.code);
    fn->created_at = f.entered_at;
    fn->globals = t.keep_borrowed(f.globals);
    fn->builtins = f.builtins;
    fn->qualname = reinterpret_cast<PyCodeObject*>(code)->co_qualname;
    int at = 2;
    Value *closure = nullptr, *annotations = nullptr, *keyword_defaults = nullptr, *defaults = nullptr;
    if (in.arg & 8) closure = t.peek(at++);
    if (in.arg & 4) annotations = t.peek(at++);
    if (in.arg & 2) keyword_defaults = t.peek(at++);
    if (in.arg & 1) defaults = t.peek(at++);
    fn->items = {defaults, keyword_defaults, closure, annotations};
    t.drop(at - 1);
    t.push(fn);
  }
  static void set_function_attribute(Tracer& t, SymFrame&, const Instr& in) {
    Value* fn = t.peek(1);
    Value* v = t.peek(2);
    // 16: __annotate__, since 3.14.
    if (fn->kind != Kind::kFunction || in.arg == 16) t.stop("opcode", {{"opname", "SET_FUNCTION_ATTRIBUTE"}});
    size_t which = in.arg == 1 ? 0 : in.arg == 2 ? 1 : in.arg == 8 ? 2 : 3;
    fn->items[which] = v;
    t.drop(2);
    t.push(fn);
  }
  static void format_value(Tracer& t, SymFrame&, const Instr& in) {
    bool has_spec = (in.arg & 4) != 0;
    Value* v = t.peek(has_spec ? 2 : 1);
    Value* r = format_symbolically(t, v, has_spec ? t.peek(1) : nullptr, in.arg & 3);
    t.drop(has_spec ? 2 : 1);
    t.push(r);
  }
  static void convert_value(Tracer& t, SymFrame&, const Instr& in) {
    Value* r = text_symbolically(t, t.peek(1), in.arg);
    t.drop(1);
    t.push(r);
  }
  static void build_string(Tracer& t, SymFrame&, const Instr& in) {
    py::Ref parts = py::check(PyTuple_New(in.arg));
    for (int i = 0; i < in.arg; ++i) {
      PyObject* c = t.need_constant(t.peek(in.arg - i), "text");
      Py_INCREF(c);
      PyTuple_SET_ITEM(parts.get(), i, c);
    }
    Value* r = t.constant_new(PyUnicode_Join(py::intern(""), parts.get()));
    t.drop(in.arg);
    t.push(r);
  }
  static void match_sequence(Tracer& t, SymFrame&, const Instr&) {
    Value* v = t.force(t.peek(1));
    bool is;
    if (v->kind == Kind::kTensor) is = false;
    else if (v->kind == Kind::kLive && v->dynamic) is = false;
    else is = (t.type_of(v)->tp_flags & Py_TPFLAGS_SEQUENCE) != 0;
    t.push(t.boolean(is));
  }
  static void match_mapping(Tracer& t, SymFrame&, const Instr&) {
    t.push(t.boolean((t.type_of(t.peek(1))->tp_flags & Py_TPFLAGS_MAPPING) != 0));
  }
  /// Stack: subject, keys; pushes the values, or None when one is missing.
  static void match_keys(Tracer& t, SymFrame&, const Instr&) {
    Value* subject = t.force(t.peek(2));
    if (subject->kind != Kind::kDict) t.quiet("match keys");
    Values found, keys = t.drain(t.peek(1));
    for (size_t i = 0; i < keys.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (t.equal(keys[i], keys[j])) t.quiet("match keys", true);
    for (Value* key : keys) {
      Value* v = t.dict_get(subject, key);
      if (!v) return t.push(t.none());
      found.push_back(v);
    }
    t.push(t.tuple(std::move(found)));
  }
  /// Stack: subject, class, names of attributes; leaves the values, or None when it is no match.
  static void match_class(Tracer& t, SymFrame&, const Instr& in) {
    Value* subject = t.force(t.peek(3));
    PyObject* cls = t.constant_of(t.peek(2));
    PyObject* names = t.constant_of(t.peek(1));
    if (!cls || !PyType_Check(cls) || !names || subject->kind == Kind::kTensor) t.quiet("match class");
    static PyObject* isinstance = PyDict_GetItemString(PyEval_GetBuiltins(), "isinstance");
    Values operands = {subject, t.peek(2)};
    Keywords none_given;
    Value* fits = Builtins::try_call(t, isinstance, operands, none_given);
    auto leave = [&](Value* r) {
      t.drop(3);
      t.push(r);
    };
    if (!t.truth(fits)) return leave(t.none());
    auto* type = reinterpret_cast<PyTypeObject*>(cls);
    Values found;
    std::vector<PyObject*> wanted;
    if (in.arg > 0) {
      PyObject* given = t.lookup(type, py::intern("__match_args__"));
      if (given) {
        if (!PyTuple_CheckExact(given) || PyTuple_GET_SIZE(given) < in.arg) t.quiet("match class", true);
        for (int i = 0; i < in.arg; ++i) {
          if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(given, i))) t.quiet("match class", true);
          wanted.push_back(PyTuple_GET_ITEM(given, i));
        }
      } else if (!(type->tp_flags & (1UL << 22)) || in.arg > 1) {  // Py_TPFLAGS_MATCH_SELF, which is private
        t.quiet("match class", true);
      } else {
        found.push_back(subject);
      }
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) wanted.push_back(PyTuple_GET_ITEM(names, i));
    for (size_t i = 0; i < wanted.size(); ++i) {
      for (size_t j = 0; j < i; ++j)
        if (PyUnicode_Compare(wanted[i], wanted[j]) == 0) t.quiet("match class", true);
      bool missing = false;
      Value* v = t.catching(PyExc_AttributeError, [&] { return t.attribute(subject, wanted[i], &missing); });
      if (missing || !v) return leave(t.none());
      found.push_back(v);
    }
    leave(t.tuple(std::move(found)));
  }
};

void add_build_opcodes(OpTable& table) {
  using B = BuildOpcodes;
  auto put = [&](Op op, OpHandler h) { table[static_cast<size_t>(op)] = h; };
  put(Op::kBuildTuple, B::build_tuple);
  put(Op::kBuildList, B::build_list);
  put(Op::kBuildSet, B::build_set);
  put(Op::kBuildMap, B::build_map);
  put(Op::kBuildConstKeyMap, B::build_const_key_map);
  put(Op::kBuildSlice, B::build_slice);
  put(Op::kBuildString, B::build_string);
  put(Op::kListAppend, B::list_append);
  put(Op::kSetAdd, B::set_add);
  put(Op::kMapAdd, B::map_add);
  put(Op::kListExtend, B::list_extend);
  put(Op::kSetUpdate, B::set_update);
  put(Op::kDictUpdate, B::dict_update);
  put(Op::kDictMerge, B::dict_update);
  put(Op::kListToTuple, B::list_to_tuple);
  put(Op::kUnpackSequence, B::unpack_sequence);
  put(Op::kUnpackEx, B::unpack_ex);
  put(Op::kMakeFunction, B::make_function);
  put(Op::kSetFunctionAttribute, B::set_function_attribute);
  put(Op::kFormatValue, B::format_value);
  put(Op::kConvertValue, B::convert_value);
  put(Op::kMatchSequence, B::match_sequence);
  put(Op::kMatchMapping, B::match_mapping);
  put(Op::kMatchKeys, B::match_keys);
  put(Op::kMatchClass, B::match_class);
}

}  // namespace breakline::trace
