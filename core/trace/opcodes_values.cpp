// SPDX-License-Identifier: GPL-3.0-or-later
// Loads, stores, attributes, operators, calls.
#include "core/torch/tensor.h"
#include "core/trace/opcodes.h"
#include "core/trace/types.h"

namespace breakline::trace {

using bytecode::Instr;
using bytecode::Op;
using guard::SourceKind;

struct Opcodes {
  static void untraced(Tracer& t, SymFrame&, const Instr& in) { t.stop("opcode", {{"opname", bytecode::op_name(in.op)}}); }
  static void step(Tracer& t, SymFrame&, const Instr& in) { t.quiet(bytecode::op_name(in.op)); }
  static void nothing(Tracer&, SymFrame&, const Instr&) {}

  // --- stack and locals
  static void pop_top(Tracer& t, SymFrame&, const Instr&) { t.drop(1); }
  /// What the generator's first resumption delivers; the next instruction drops it.
  static void return_generator(Tracer& t, SymFrame&, const Instr&) { t.push(t.none()); }
  static void push_null(Tracer& t, SymFrame&, const Instr&) { t.push(nullptr); }
  static void load_const(Tracer& t, SymFrame&, const Instr& in) { t.push(t.constant(in.object)); }
  static Value*& slot(SymFrame& f, const Instr& in) { return f.locals_[static_cast<size_t>(in.arg)]; }
  static void load_fast(Tracer& t, SymFrame& f, const Instr& in) {
    if (!slot(f, in)) t.quiet("unbound local", true);
    t.push(slot(f, in));
  }
  static void load_fast_or_null(Tracer& t, SymFrame& f, const Instr& in) { t.push(slot(f, in)); }
  static void clear_fast(Tracer&, SymFrame& f, const Instr& in) { slot(f, in) = nullptr; }
  static void store_fast(Tracer& t, SymFrame& f, const Instr& in) { slot(f, in) = t.pop(); }
  static void delete_fast(Tracer& t, SymFrame& f, const Instr& in) {
    if (!slot(f, in)) t.quiet("unbound local", true);
    slot(f, in) = nullptr;
  }
  static void make_cell(Tracer& t, SymFrame& f, const Instr& in) {
    Value* c = t.make(Kind::kCell);
    c->items = {slot(f, in)};
    slot(f, in) = c;
  }
  static void load_closure(Tracer& t, SymFrame& f, const Instr& in) { t.push(slot(f, in)); }
  static Value* cell(Tracer& t, SymFrame& f, const Instr& in) {
    Value* c = slot(f, in);
    if (!c) t.quiet("unbound cell", true);
    t.force(c);
    if (c->kind != Kind::kCell) t.stop("opcode", {{"opname", "cell"}});
    return c;
  }
  static void load_deref(Tracer& t, SymFrame& f, const Instr& in) {
    Value* c = cell(t, f, in);
    if (!c->items[0]) t.quiet("unbound cell", true);
    t.push(c->items[0]);
  }
  static void cell_changed(Tracer& t, Value* c) {
    t.mutated();
    if (c->source < 0) return;
    t.release(nullptr);
    if (c->dirty) return;
    c->dirty = true;
    t.touched_.push_back(c);
  }
  static void store_deref(Tracer& t, SymFrame& f, const Instr& in) {
    Value* c = cell(t, f, in);
    c->items[0] = t.pop();
    cell_changed(t, c);
  }
  static void delete_deref(Tracer& t, SymFrame& f, const Instr& in) {
    Value* c = cell(t, f, in);
    if (!c->items[0]) t.quiet("unbound cell", true);
    c->items[0] = nullptr;
    cell_changed(t, c);
  }
  static void copy_free_vars(Tracer& t, SymFrame& f, const Instr& in) {
    size_t first = f.locals_.size() - static_cast<size_t>(in.arg);
    Value* fn = f.function;
    if (!fn) t.stop("opcode", {{"opname", "COPY_FREE_VARS"}});
    for (int i = 0; i < in.arg; ++i) {
      Value*& place = f.locals_[first + static_cast<size_t>(i)];
      if (fn->kind == Kind::kFunction) {
        place = t.drain(fn->items[2])[static_cast<size_t>(i)];
      } else {
        PyObject* c = PyTuple_GET_ITEM(PyFunction_GET_CLOSURE(fn->object), i);
        SourceId of = fn->kind == Kind::kLive ? fn->source : t.object_source(fn->object);
        place = t.live(c, t.child(SourceKind::kClosureCell, of, nullptr, i));
      }
    }
  }

  // --- globals
  static Value* globals_of(Tracer& t, PyObject* dict) { return t.namespace_value(dict); }
  static void load_global(Tracer& t, SymFrame& f, const Instr& in) {
    Value* v = t.dict_get(globals_of(t, f.globals), in.object);
    if (!v) v = t.dict_get(globals_of(t, f.builtins), in.object);
    if (!v) t.quiet("NameError", true);
    t.push(v);
  }
  static void store_global(Tracer& t, SymFrame& f, const Instr& in) {
    t.dict_set(globals_of(t, f.globals), t.constant(in.object), t.peek(1));
    t.drop(1);
  }
  static void delete_global(Tracer& t, SymFrame& f, const Instr& in) {
    t.dict_delete(globals_of(t, f.globals), t.constant(in.object));
  }

  // --- attributes
  /// A property's getter or __getattr__ becomes a frame of its own, so that a break in it is a break there.
  static Value* property_frame(Tracer& t, Value* owner, PyObject* name, bool* pushed) {
    *pushed = false;
    t.force(owner);
    if (owner->kind != Kind::kLive && owner->kind != Kind::kInstance) return t.attribute(owner, name);
    if (torch::available() && owner->kind == Kind::kLive && torch::is_tensor(owner->object)) return t.attribute(owner, name);
    PyTypeObject* type = t.type_of(owner);
    if (Value* written = nullptr; !t.class_writes_.empty() && t.written_class_attribute(type, name, &written)) return t.attribute(owner, name);
    PyObject* a = t.changing_class_attribute(type, name) ? nullptr : t.lookup(type, name);
    if (a && is_property(a) && !t.lookup(type, py::intern("__getattr__"))) {
      PyObject* own = t.lookup(type, py::intern("__getattribute__"));
      if (own && PyFunction_Check(own)) return t.attribute(owner, name);
      py::Ref getter = py::check(PyObject_GetAttrString(a, "fget"));
      if (PyFunction_Check(getter.get())) {
        Value* r = t.call(t.constant(getter.get()), {owner}, {});
        *pushed = r == nullptr;
        return r;
      }
    }
    return t.attribute(owner, name);
  }
  static void load_attr(Tracer& t, SymFrame& f, const Instr& in) {
    bool pushed;
    Value* v = property_frame(t, t.peek(1), in.object, &pushed);
    f.stack.pop_back();
    if (!pushed) f.stack.push_back(v);
  }
  static void load_method(Tracer& t, SymFrame& f, const Instr& in) {
    bool pushed;
    Value* v = property_frame(t, t.peek(1), in.object, &pushed);
    f.stack.pop_back();
    if (pushed) {
      f.stack.push_back(nullptr);  // the getter's result comes on top of it
      return;
    }
    push_call_slots(t, v);
  }
  static void push_call_slots(Tracer& t, Value* v) {
    bool bound = v->kind == Kind::kMethod && v->source < 0;
    t.push(bound ? v->items[0] : nullptr);
    t.push(bound ? v->items[1] : v);
  }
  static void load_super_attr(Tracer& t, SymFrame&, const Instr& in) {
    if (t.constant_of(t.peek(3)) != reinterpret_cast<PyObject*>(&PySuper_Type)) t.quiet("a super of the user's own");
    Values operands = {t.peek(2), t.peek(1)};
    Value* v = t.attribute(t.super_call(operands), in.object);
    t.drop(3);
    if (!(in.arg & 1)) return t.push(v);
    push_call_slots(t, v);
  }
  static void store_attr(Tracer& t, SymFrame&, const Instr& in) {
    t.set_attribute(t.peek(1), in.object, t.peek(2));
    t.drop(2);
  }
  static void delete_attr(Tracer& t, SymFrame&, const Instr& in) {
    t.delete_attribute(t.peek(1), in.object);
    t.drop(1);
  }

  // --- calls
  /// After call(): drops the operands of the calling frame and delivers the result, or arranges for the new frame to.
  static void deliver(Tracer& t, SymFrame& caller, size_t operands, Value* result) {
    caller.stack.resize(caller.stack.size() - operands);
    if (result) {
      caller.stack.push_back(result);
    } else if (t.top().on_return == ReturnMode::kDiscard) {
      caller.stack.push_back(t.top().constructed);
    }
  }
  static void call(Tracer& t, SymFrame& f, const Instr& in) {
    size_t argc = static_cast<size_t>(in.arg);
    bytecode::CallSlots slots = bytecode::call_slots(in.arg, t.peek(in.arg + 2) == nullptr);
    Value* callee = t.peek(slots.callable);
    const auto first = f.stack.end() - (slots.self ? slots.self : in.arg);
    Values args;
    args.reserve(argc + 2);
    args.assign(first, f.stack.end());
    Keywords keywords;
    if (in.object) {
      size_t n = static_cast<size_t>(PyTuple_GET_SIZE(in.object));
      keywords.reserve(n);
      for (size_t i = 0; i < n; ++i)
        keywords.emplace_back(PyTuple_GET_ITEM(in.object, static_cast<Py_ssize_t>(i)), args[args.size() - n + i]);
      args.resize(args.size() - n);
    }
    Value* r = t.call(callee, std::move(args), std::move(keywords));
    deliver(t, f, argc + 2, r);
  }
  static void call_ex(Tracer& t, SymFrame& f, const Instr& in) {
    bool has_map = in.arg & 1;
    Value* map = has_map ? t.peek(1) : nullptr;
    Value* list = t.peek(has_map ? 2 : 1);
    Value* callee = t.peek(has_map ? 3 : 2);
    size_t operands = has_map ? 4 : 3;
    Values args = t.listed(list);
    Keywords keywords;
    if (map) {
      t.force(map);
      if (map->kind != Kind::kDict) t.stop("function-call", {{"function", "** of " + t.describe(map)}});
      t.dict_load(map);
      if (map->dict)
        for (DictEntry& e : map->dict->entries) {
          PyObject* name = t.need_constant(e.key, "keyword");
          if (!PyUnicode_Check(name)) t.quiet("keywords must be strings", true);
          if (e.value) keywords.emplace_back(name, e.value);
        }
    }
    Value* r = t.call(callee, std::move(args), std::move(keywords));
    deliver(t, f, operands, r);
  }

  // --- operators
  static void binary_op(Tracer& t, SymFrame&, const Instr& in) {
    Value* r = t.binary(in.arg, t.peek(2), t.peek(1));
    t.drop(2);
    t.push(r);
  }
  static void compare_op(Tracer& t, SymFrame&, const Instr& in) {
    Value* r = t.compare(in.arg & 0xff, t.peek(2), t.peek(1));
    if (in.arg & 0x100) r = t.boolean(t.truth(r));
    t.drop(2);
    t.push(r);
  }
  static void is_op(Tracer& t, SymFrame&, const Instr& in) {
    bool r = t.same(t.peek(2), t.peek(1));
    t.drop(2);
    t.push(t.boolean(r != (in.arg != 0)));
  }
  static void contains_op(Tracer& t, SymFrame&, const Instr& in) {
    bool r = t.contains(t.peek(1), t.peek(2));
    t.drop(2);
    t.push(t.boolean(r != (in.arg != 0)));
  }
  static void unary_not(Tracer& t, SymFrame&, const Instr&) {
    int r = t.truth(t.peek(1));
    t.drop(1);
    t.push(t.boolean(!r));
  }
  static void to_bool(Tracer& t, SymFrame&, const Instr&) {
    int r = t.truth(t.peek(1));
    t.drop(1);
    t.push(t.boolean(r));
  }
  static void unary(Tracer& t, SymFrame&, const Instr& in) {
    Value* r = t.unary(in.op, t.peek(1));
    t.drop(1);
    t.push(r);
  }
  static void binary_subscr(Tracer& t, SymFrame& f, const Instr&) {
    Value* c = t.force(t.peek(2));
    if ((c->kind == Kind::kLive && !is_typing_object(c->object)) || c->kind == Kind::kInstance)
      if (Value* m = t.special_method(c, "__getitem__")) {
        Value* r = t.call(m, {c, t.peek(1)}, {});
        return deliver(t, f, 2, r);
      }
    Value* r = t.subscript(c, t.peek(1));
    t.drop(2);
    t.push(r);
  }
  static void store_subscr(Tracer& t, SymFrame&, const Instr&) {
    t.store_subscript(t.peek(2), t.peek(1), t.peek(3));
    t.drop(3);
  }
  static void delete_subscr(Tracer& t, SymFrame&, const Instr&) {
    t.delete_subscript(t.peek(2), t.peek(1));
    t.drop(2);
  }
  static void get_len(Tracer& t, SymFrame&, const Instr&) { t.push(t.length(t.peek(1))); }
};

void add_value_opcodes(OpTable& table) {
  auto put = [&](Op op, OpHandler h) { table[static_cast<size_t>(op)] = h; };
  for (OpHandler& h : table) h = Opcodes::untraced;
  put(Op::kNop, Opcodes::nothing);
  put(Op::kPopTop, Opcodes::pop_top);
  put(Op::kPushNull, Opcodes::push_null);
  put(Op::kReturnGenerator, Opcodes::return_generator);
  put(Op::kLoadConst, Opcodes::load_const);
  put(Op::kLoadFast, Opcodes::load_fast);
  put(Op::kLoadFastOrNull, Opcodes::load_fast_or_null);
  put(Op::kClearFast, Opcodes::clear_fast);
  put(Op::kStoreFast, Opcodes::store_fast);
  put(Op::kDeleteFast, Opcodes::delete_fast);
  put(Op::kMakeCell, Opcodes::make_cell);
  put(Op::kLoadClosure, Opcodes::load_closure);
  put(Op::kLoadDeref, Opcodes::load_deref);
  put(Op::kStoreDeref, Opcodes::store_deref);
  put(Op::kDeleteDeref, Opcodes::delete_deref);
  put(Op::kCopyFreeVars, Opcodes::copy_free_vars);
  put(Op::kLoadGlobal, Opcodes::load_global);
  put(Op::kStoreGlobal, Opcodes::store_global);
  put(Op::kDeleteGlobal, Opcodes::delete_global);
  put(Op::kLoadAttr, Opcodes::load_attr);
  put(Op::kLoadMethod, Opcodes::load_method);
  put(Op::kLoadSuperAttr, Opcodes::load_super_attr);
  put(Op::kStoreAttr, Opcodes::store_attr);
  put(Op::kDeleteAttr, Opcodes::delete_attr);
  put(Op::kCall, Opcodes::call);
  put(Op::kCallEx, Opcodes::call_ex);
  put(Op::kBinaryOp, Opcodes::binary_op);
  put(Op::kCompareOp, Opcodes::compare_op);
  put(Op::kIsOp, Opcodes::is_op);
  put(Op::kContainsOp, Opcodes::contains_op);
  put(Op::kUnaryNot, Opcodes::unary_not);
  put(Op::kToBool, Opcodes::to_bool);
  put(Op::kUnaryNegative, Opcodes::unary);
  put(Op::kUnaryInvert, Opcodes::unary);
  put(Op::kUnaryPositive, Opcodes::unary);
  put(Op::kBinarySubscr, Opcodes::binary_subscr);
  put(Op::kStoreSubscr, Opcodes::store_subscr);
  put(Op::kDeleteSubscr, Opcodes::delete_subscr);
  put(Op::kGetLen, Opcodes::get_len);
  for (Op op : {Op::kCheckEgMatch, Op::kPrepReraiseStar}) put(op, Opcodes::step);
}

const OpTable& opcode_table() {
  static const OpTable table = [] {
    OpTable t{};
    add_value_opcodes(t);
    add_control_opcodes(t);
    add_build_opcodes(t);
    add_exception_opcodes(t);
    return t;
  }();
  return table;
}

}  // namespace breakline::trace
