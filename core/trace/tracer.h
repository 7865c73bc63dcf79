// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/base/flat_map.h"
#include "core/guard/program.h"
#include "core/torch/ambient.h"
#include "core/torch/registry.h"
#include "core/trace/break.h"
#include "core/trace/markers.h"
#include "core/trace/shape_log.h"
#include "core/trace/value.h"

namespace breakline::trace {

using Keywords = std::vector<std::pair<PyObject*, Value*>>;

/// One frame of the state a trace starts from; its values are in the slots, locals first, then operands.
struct EntryFrame {
  const bytecode::Code* code = nullptr;
  PyObject *function = nullptr, *globals = nullptr, *builtins = nullptr, *locals = nullptr;
  int pc = 0, stack = 0;
  ReturnMode on_return = ReturnMode::kPush;
  CompileRoot compile_root;
  int resumed_line = 0;
};

struct Options {
  int64_t instruction_limit = 400'000;
  int64_t node_limit = 20'000;
  int64_t idle_instructions = 4096;  ///< of loops that add no node, before the loop is left to the executor
  int inline_depth = 400;
  int force_break_every = 0;     ///< tests: break before every n-th instruction
  uint64_t force_break_seed = 0;
  bool root_fullgraph = false;   ///< the root's own fullgraph
  bool open_sizes = false;       ///< sizes of tensors are left open from the first trace on
};

/// Numbers that a site has seen change: their sources are not baked in. Keyed by a textual path of the source.
struct SiteHints {
  std::vector<int32_t> unbacked;  ///< slots whose value was read out of a tensor; of roots with fullgraph only
  std::unordered_set<std::string> dynamic;
  /// Texts, functions and the like that were another one in each variant: what looks at one is left to the executor.
  std::unordered_set<std::string> varying;
};
/// The key of `dynamic` for a dimension of the tensor at `path`.
std::string size_hint(const std::string& path, size_t dim);

/// What ends a trace.
enum class ExitKind : uint8_t { kReturn, kBreak, kStep };

/// A change of the outside that the segment makes at its end, in order.
struct Effect {
  enum Kind : uint8_t {
    kDictSet, kDictDelete, kListReplace, kListAppend, kCellSet, kAttributeSet, kAttributeDelete, kSetOperations, kMoveToEnd,
    kClassAttribute,  ///< set on a class, or deleted (no value)
  } kind;
  Value* target = nullptr;
  Value* key = nullptr;
  Value* value = nullptr;
  PyObject* name = nullptr;
};

/// Evaluates a continuation symbolically until it returns or meets something untraceable. It reads Python state and never
/// changes it. One use per trace; keep it until the segment has been built from it. Needs the GIL.
class Tracer {
 public:
  Tracer(const Options& options, const SiteHints& hints, std::string target);
  ~Tracer();

  /// `slots` as in resume::State. Throws py::PythonError only for out-of-memory and interrupts.
  void trace(const std::vector<EntryFrame>& entry, PyObject* const* slots, size_t slot_count, PyObject* handled);

  // --- results
  ExitKind exit_kind() const { return exit_; }
  const BreakInfo& break_info() const { return break_; }
  Value* return_value() const { return return_value_; }
  const std::vector<std::unique_ptr<SymFrame>>& frames() const { return frames_; }
  Value* handled() const { return handled_; }
  const std::vector<Effect>& effects() const { return effects_; }
  std::shared_ptr<graph::Graph> graph() const { return graph_; }
  /// Source of each graph input.
  const std::vector<SourceId>& input_sources() const { return input_sources_; }
  guard::GuardProgram take_guards();
  ShapeLog take_shape_log();
  std::vector<py::Ref> take_constants() { return std::move(constants_); }
  const torch::Ambient& entry_ambient() const { return entry_ambient_; }
  /// Frames at the entry, for the policy of a segment (a return has no break but may hold one later).
  int64_t instructions() const { return instruction_count_; }
  const std::vector<const bytecode::Code*>& code_objects() const { return codes_; }
  /// Source ranges run by this trace: code → lines.
  std::map<const bytecode::Code*, std::pair<int, int>> line_ranges() const;
  struct RegionSeen { std::string key, kind, file, qualname; int line, end_line; bool error; };
  const std::vector<RegionSeen>& regions() const { return regions_; }
  bool has_side_effects() const { return !effects_.empty(); }
  int restarts() const { return restarts_; }
  /// The source of a value that has to be fetched at the exit (adds the fetch step). kNoSource when it is made here.
  SourceId fetch_source(Value* v);

  // --- used by the handler files -----------------------------------------------------------------------------------
  [[noreturn]] void stop(const std::string& reason, std::vector<std::pair<std::string, std::string>> arguments = {});
  /// A step that is executed but is no break. `raises`: expected to raise eager's own error.
  [[noreturn]] void quiet(const std::string& what, bool raises = false);

  Value* make(Kind kind);
  Value* constant(PyObject* object);            ///< keeps a reference
  Value* constant_new(PyObject* fresh);         ///< takes it over; null: the pending Python error becomes a quiet step
  Value* wrap(PyObject* fresh, std::unordered_map<PyObject*, Value*>* done = nullptr);  ///< result of a pure call: constants, or fresh containers of them
  Value* none() { return constant(Py_None); }
  Value* boolean(bool b) { return constant(b ? Py_True : Py_False); }
  Value* integer(int64_t i) { return constant_new(PyLong_FromLongLong(i)); }
  Value* text(const std::string& s);
  Value* live(PyObject* object, SourceId source);
  Value* tuple(Values items);
  Value* list(Values items);
  Value* method(Value* function, Value* self);
  PyObject* keep(PyObject* owned);              ///< alive as long as the segment
  PyObject* keep_borrowed(PyObject* object);
  PyObject* keep_for_trace(py::Ref object) {
    transient_.push_back(object);
    return object.get();
  }

  /// Looks at a live value: guards its type and turns it into what it is.
  Value* force(Value* v);
  PyObject* constant_of(Value* v);              ///< borrowed, or null when it is no constant; guards as needed
  PyObject* need_constant(Value* v, const char* what);
  bool is_constant(Value* v) { return constant_of(v) != nullptr; }
  bool int_of(Value* v, int64_t* out);
  const char* text_of(Value* v);                ///< null when no constant str
  PyTypeObject* type_of(Value* v);
  PyObject* lookup(PyTypeObject* type, PyObject* name);  ///< on the MRO, recorded as a guard; borrowed or null
  void rely_on_order(PyTypeObject* type);                ///< guards that the class keeps its bases
  guard::TypeRecord& type_record(PyTypeObject* type);    ///< guarded from now on; valid until the next one
  void guard_type(Value* v);
  void guard(guard::StepKind kind, SourceId source, PyObject* object = nullptr, int64_t number = 0, int extra = -1);
  void need(SourceId source);
  SourceId child(guard::SourceKind kind, SourceId parent, PyObject* key = nullptr, int64_t index = 0);
  SourceId object_source(PyObject* object);
  /// A number from Python's own generator (random.random(), random.randint(1, 6)), left open; null where `callable` is none
  /// of its functions or the arguments aren't known.
  Value* draw(PyObject* callable, const Values& args, const Keywords& keywords);
  /// Whether a source hangs on such a number. One that is looked at can't stay open: `undraw` starts over with a break there.
  bool is_drawn(SourceId id);
  [[noreturn]] void undraw(SourceId id);
  /// What `function(a, b)` gives when the guards are checked.
  SourceId expression(PyObject* function, PyObject* a, PyObject* b);
  std::string describe(Value* v);               ///< for break contexts
  std::string name_of(PyObject* callable);

  void mutated() { ++mutations_; }
  /// An existing object stops being referenced from an existing place (null: it is not known which one).
  void release(Value* v);
  /// Whether objects of the entry state may have lost a reference since the entry. `callee` does not count.
  bool may_have_released(Value* callee) const;

  // containers
  Value** dict_find(Value* dict, Value* key);
  Value* dict_get(Value* dict, Value* key);
  Value* dict_get(Value* dict, PyObject* key) {
    Value** known = known_place(dict, key);
    return known ? *known : dict_get(dict, constant(key));
  }
  /// Where the entry of a name lies that was found before; null when it has to be looked for.
  Value** known_place(Value* dict, PyObject* name);
  /// The rest of `dict_find`, for a key that is the constant `k` and hashes without code of the program.
  Value** find_constant(Value* dict, Value* key, PyObject* k);
  /// The place of the entry whose key is equal to `key`, of this hash, where classes' own `__hash__` and `__eq__` decide; with
  /// `only_coded` keys that have none are passed over.
  Value** find_by_code(Value* dict, Value* key, Py_hash_t hash, bool only_coded);
  /// An existing dict that holds keys whose classes say what they are equal to.
  bool may_hold_coded_keys(Value* dict);
  void dict_load(Value* dict);
  void dict_set(Value* dict, Value* key, Value* value, bool log = true);
  void dict_delete(Value* dict, Value* key);
  Py_ssize_t dict_size(Value* dict);
  void list_load(Value* list);
  void list_touch(Value* list);
  Py_ssize_t list_size(Value* list);
  Value* new_dict() {
    Value* d = make(Kind::kDict);
    d->dict = std::make_unique<DictData>();
    return d;
  }
  Value* new_set();
  /// An object whose use as an operand of a set operation has the effect of using `v`, the order of items included; null when
  /// there is none (items that are no constants; a live set, whose table is not known).
  PyObject* set_operand(Value* v);
  /// set.<method>(other) in place, for update and its kin.
  void set_update(Value* set, const char* method, Value* other);
  /// A new set or frozenset: set.<method>(other), or set.<method>() for null.
  Value* set_derive(Value* set, const char* method, Value* other);
  /// keys() or items() as the set they compare as; null for values() and anything else.
  Value* view_as_set(Value* v);
  void set_apply(Value* set, SetOperation::Kind kind, Value* item);
  void set_change(Value* set, SetOperation op);
  bool hashes_by_identity(Value* v);
  /// Whether a set made here holds the very object; if not, that stays so under guards.
  bool set_has_object(Value* set, Value* item);
  Py_ssize_t set_size(Value* set) { return PySet_GET_SIZE(set->shadow) + (set->source < 0 ? static_cast<Py_ssize_t>(set->items.size()) : 0); }
  Value* iterator_of(Value* v);
  Value* next_of(Value* iterator);              ///< null when exhausted
  Values drain(Value* iterable);
  /// Calls `use` with each item before the next one is asked for.
  void each_item(Value* iterable, const std::function<void(Value*)>& use);
  /// The items as `list(iterable)` takes them: the object is asked for its length on the way.
  Values listed(Value* iterable);
  /// Calls a Python `__len__` or `__length_hint__`, as native code does that is about to fill a list.
  void ask_length(Value* v);
  /// list.extend.
  void extend_list(Value* list, Value* iterable);
  Value* range_iterator(PyObject* range);
  bool same(Value* a, Value* b);
  bool equal(Value* a, Value* b);               ///< a == b as a truth value
  bool contains(Value* container, Value* item);
  Value* subscript(Value* container, Value* key);
  bool store_subscript(Value* container, Value* key, Value* value);
  void delete_subscript(Value* container, Value* key);
  int truth(Value* v);
  Value* length(Value* v);
  Value* binary(int op, Value* a, Value* b);
  Value* compare(int op, Value* a, Value* b);
  Value* unary(bytecode::Op op, Value* v);

  // attributes. `missing`: set instead of stopping when there is no such attribute.
  Value* attribute(Value* owner, PyObject* name, bool* missing = nullptr);
  Value* tensor_attribute(Value* tensor, PyObject* name, bool* missing);
  /// `generic`: as object.__getattribute__ does it, without the class's own ways.
  Value* instance_attribute(Value* owner, PyObject* name, bool* missing, bool generic = false);
  Value* plain_attribute(Value* owner, PyTypeObject* type, PyObject* name, bool* missing);
  [[noreturn]] void no_attribute(Value* owner, PyObject* name);
  Value* class_attribute(PyTypeObject* cls, PyObject* name, bool* missing);
  Value* module_attribute(PyObject* module, PyObject* name, bool* missing);
  Value* super_attribute(Value* super, PyObject* name, bool* missing);
  Value* function_attribute(Value* function, PyObject* name, bool* missing);
  Value* bind(PyObject* attribute, Value* self, PyTypeObject* type, PyObject* name);
  Value* instance_dict(Value* owner);           ///< null when it has none
  Value* dict_of_thread(Value* local);          ///< of a threading.local: the running thread's
  void set_attribute(Value* owner, PyObject* name, Value* value);
  void set_attribute_plainly(Value* owner, PyObject* name, Value* value);
  void delete_attribute(Value* owner, PyObject* name);
  void delete_attribute_plainly(Value* owner, PyObject* name);

  // calls. Null: a frame was pushed whose return value is the result.
  Value* call(Value* callee, Values args, Keywords keywords);
  /// Runs the call to its end here; a break inside becomes one of the outer instruction.
  Value* call_nested(Value* callee, Values args, Keywords keywords = {});
  Value* call_constant(PyObject* callable, Values& args, Keywords& keywords);
  /// A function behind functools.lru_cache whose answer may be taken now; null when it can't.
  Value* cached_answer(PyObject* wrapper, const Values& args);
  Value* call_cached(PyObject* wrapper, Values& args, Keywords& keywords);
  Value* enter(Value* function, PyObject* function_object, PyCodeObject* code, PyObject* globals, PyObject* builtins,
               Values& args, Keywords& keywords);
  /// The frame of a Python function that has a row of its own among the builtins: null when it was pushed.
  Value* enter_python(PyObject* function, Values& args, Keywords& keywords);
  /// `plain`: as type.__call__ does it, whatever the metaclass says.
  Value* instantiate(PyTypeObject* type, Values& args, Keywords& keywords, bool plain = false);
  Value* new_instance(PyTypeObject* type);
  /// What collections.namedtuple's own `__new__` makes of these arguments.
  Value* named_tuple(PyTypeObject* type, PyObject* maker, const Values& args, const Keywords& keywords);
  Value* initialise(Value* object, PyTypeObject* type, Values& args, Keywords& keywords);
  /// A Python object of constants only, lists and dicts included (not to be changed); null when v is no such thing.
  PyObject* constant_copy(Value* v);
  /// `scalars`: with twins of objects that behave as scalars.
  PyObject* constant_copy(Value* v, std::unordered_map<Value*, PyObject*>& done, bool scalars = false);
  Value* fold(PyObject* callable, const Values& args, const Keywords& keywords);
  /// The arguments as values that hold no code of the user's; false when one is no such thing.
  bool data_arguments(const Values& args, const Keywords& keywords, Values& values, Keywords& words);
  /// Calls now, with copies of such arguments; null when they aren't.
  Value* call_data(PyObject* callable, const Values& args, const Keywords& keywords);
  /// Asks now; a guard asks again.
  /// An array that a function of numpy makes of plain data at each call of the segment; null for other arguments.
  Value* new_array(PyObject* maker, const Values& args, const Keywords& keywords);
  Value* query(PyObject* callable, const std::vector<PyObject*>& args);
  /// An object of C from a table whose methods touch nothing but it; null for other factories.
  Value* native_object(PyObject* factory, Values& args, Keywords& keywords);
  /// A method of such an object, called on its twin too; null when it is not in the table.
  Value* native_call(Value* self, const std::string& name, Values& args, Keywords& keywords);
  Value* native_attribute(Value* self, PyObject* name, bool* missing);
  /// The Python form of a native callable, traced in its place; null when it has none (forms.cpp).
  Value* call_form(PyObject* native, Values& args, Keywords& keywords);
  /// A class statement whose body runs nothing but definitions: done now, for this trace (class_statements.cpp).
  Value* build_class(Values& args, Keywords& keywords);
  /// Something native done to a class of build_class that touches nothing else; null for other calls.
  Value* decorate_class(PyObject* callable, Values& args, Keywords& keywords);
  Value* make_class(Values& args);
  /// Cells and functions of the trace as real ones that it knows again; null when they can't be.
  PyObject* real_cells(Value* closure);
  PyObject* real_function(Value* function);
  /// hash() by the class's own __hash__: false when it has none in Python.
  bool own_hash(Value* key, Py_hash_t* hash);
  void note_statement(PyObject* cls, const std::string& what);
  std::string module_of_frame();
  void note_class_made(PyObject* cls, int64_t instruction);
  bool is_made_here(PyObject* object) const { return made_objects_.count(object) != 0; }
  void set_class_attribute(PyTypeObject* cls, PyObject* name, Value* value);
  /// What the trace has written to a class or one of its bases; false when nothing. A null value: deleted.
  bool written_class_attribute(PyTypeObject* cls, PyObject* name, Value** value);
  /// A number on a class that was seen to change: read anew by each call. Null for others.
  Value* changing_class_attribute(PyTypeObject* cls, PyObject* name);
  Value* deque_method(Value* self, const std::string& name, Values& args, Keywords& keywords);
  Value* deque(Values items, Value* limit);
  /// list.sort's order by comparisons of the trace's own, as CPython makes them.
  void sort_values(Values& items, Values& keys, bool reverse);
  Value* identity_of(Value* v);
  Value* names_of_frame();
  Value* evaluate(const Values& args);
  /// Logger.isEnabledFor, and messages of a level that is off; null for others.
  Value* call_logger(PyObject* function, Values& args);
  /// A pure function on data, or a question about the process; null for other calls.
  /// A function of numpy on data, when its answer is a number; null for other calls.
  Value* call_numpy(PyObject* o, const Values& args, const Keywords& keywords);
  Value* call_while_tracing(PyObject* callable, Values& args, Keywords& keywords);
  bool may_inline(PyCodeObject* code, std::string* why);
  /// The rest of `enter`, for code that is traced.
  Value* push_frame(Value* function, PyObject* function_object, PyCodeObject* code, PyObject* globals, PyObject* builtins, Values& args,
                    Keywords& keywords);
  std::unique_ptr<SymFrame> new_frame();
  Value* namespace_value(PyObject* dict);  ///< a frame's globals or builtins
  Value* call_method(Value* self, const char* name, Values args = {});
  Value* special_method(Value* self, const char* name);  ///< the Python function, or null
  /// cls.__subclasses__(), under a guard on which classes these are.
  Value* subclasses_of(Value* cls);
  /// What an instance of a subclass of dict, OrderedDict or list holds, as a container; null for other objects.
  Value* payload(Value* v);
  /// The same when the class leaves `method` to its base.
  Value* plain_payload(Value* v, const char* method);
  Value* proxy_payload(Value* v);
  void give_payload(Value* instance, PyTypeObject* base);
  Value* payload_method(Value* self, const std::string& name, Values& args, Keywords& keywords);
  /// scalars.cpp: the plain value inside an instance of a subclass of int, float, complex, str or bytes; null for other objects.
  Value* scalar(Value* v);
  /// The same when its class leaves these methods to its base. Null names are passed over.
  Value* plain_scalar(Value* v, std::initializer_list<const char*> methods);
  /// Whether it is a scalar and native code that is handed it runs nothing of its class.
  bool behaves_as_scalar(Value* v);
  /// A real object of the same class and value, without attributes; kept.
  PyObject* scalar_twin(Value* v);
  Value* new_scalar(PyTypeObject* type, Values args, Keywords keywords);
  /// What tuple's own `__new__` makes.
  Value* new_tuple(PyTypeObject* type, const Values& args, const Keywords& keywords);
  /// int.__new__(cls, …) and its kin, called by a class's `__new__`; null for other calls.
  Value* new_of_base(PyObject* callable, const Values& args, const Keywords& keywords);
  /// A native method of its base called on a scalar; null for other calls.
  Value* scalar_method(PyObject* descriptor, const Values& args, const Keywords& keywords);
  /// list.append, dict.get … on a tracked container; null when not known.
  /// `owner`: the class of C that defines the method; null for one of a container itself.
  Value* container_method(Value* self, const char* name, Values& args, Keywords& keywords, PyTypeObject* owner = nullptr);
  bool equal_dicts(Value* a, Value* b);
  Value* as_iterator(Value* r);  ///< what __iter__ returned, which has to be an iterator
  /// What a special method returned, where its protocol takes instances of one class only.
  Value* returned(Value* r, PyTypeObject* type, const char* method);
  Value* asked_length(Value* method, Value* v);  ///< by a __len__ of Python
  Py_hash_t hash_of_answer(Value* r);  ///< the hash that an answer of __hash__ stands for
  Value* bound_by_get(Value* function, const Values& args);
  PyObject* attribute_name(Value* v);  ///< interned; a name that is no string is left to CPython
  Value* list_method(Value* self, const std::string& name, Values& args, Keywords& keywords);
  Value* dict_method(Value* self, const std::string& name, Values& args, Keywords& keywords);
  Value* set_method(Value* self, const std::string& name, Values& args, Keywords& keywords);
  Value* tuple_method(Value* self, const std::string& name, Values& args, Keywords& keywords);

  // torch
  bool holds_tensor(Value* v);
  Value* torch_call(PyObject* callable, Values args, Keywords keywords = {});
  /// x[i] = number with an integer tensor without dimensions as i.
  bool writes_at_number(const torch::CallableInfo& info, const Values& args);
  Value* torch_call(PyObject* callable, const torch::CallableInfo& info, Values& args, Keywords& keywords);
  graph::Arg argument(Value* v);
  void add_input(Value* v, graph::Value g);  ///< of the graph: something with a source that is no tensor
  // Sizes that are left open (sizes.cpp).
  /// Whether a value's sizes may differ the next time.
  bool is_inference(graph::ValueId id) const { return !inference_.empty() && inference_.contains(view_base_[static_cast<size_t>(id)]); }
  bool varies(graph::ValueId id) const { return varies_[static_cast<size_t>(id)]; }
  Value* size_of(Value* tensor, size_t dim);
  Value* shape_of(Value* tensor);
  Value* numel_of(Value* tensor);
  Value* size_tuple(Values items);  ///< a torch.Size
  bool is_open_tuple(Value* v);     ///< a tuple with open numbers
  /// a + b of tuples; null when they are no such thing.
  Value* join_sizes(Value* a, Value* b);
  /// x.size() and its kin on a tensor whose sizes are open; null for other calls.
  Value* size_query(const torch::CallableInfo& info, const Values& args, const Keywords& keywords);
  /// A native function of numbers some of which are open, as an open number; null for other calls.
  Value* number_call(PyObject* function, const Values& args, const Keywords& keywords);
  /// The trace looks at more of a tensor's layout than can be repeated: it starts over with that tensor's sizes fixed.
  void keep_sizes(Value* tensor);
  void close_all();  ///< the same for all sizes
  graph::TensorMeta& meta(Value* tensor);
  /// subclass.cpp: whether the value is a tensor of a class whose own __torch_function__ is asked now.
  bool is_overriding(Value* v);
  /// The same for its class alone, modes apart.
  bool overrides_by_class(Value* v);
  /// function_modes.cpp: calls that ask for or change the stack of torch-function modes; null for others.
  Value* function_mode_call(std::string_view name, const Values& args);
  /// What the innermost mode makes of the call; null when PyTorch does not ask it.
  Value* call_of_mode(PyObject* callable, Values& args, Keywords& keywords);
  /// A break where a mode is in force.
  void refuse_under_mode();
  /// The trace ends: modes that are still in force are entered for real.
  void leave_modes();
  /// What the `__torch_function__` of an operand's class makes of the call; null when no operand has one.
  Value* overridden_call(PyObject* callable, Values& args, Keywords& keywords);
  /// The same for reading an attribute that is PyTorch's own.
  Value* overridden_attribute(Value* tensor, PyObject* name);
  /// tensor.as_subclass(cls) as a node; null when it can't be one.
  Value* as_subclass(Value* tensor, Value* cls);
  /// The overlay of an object's Python attributes where it is a tensor; null when they can't be known.
  Value* tensor_dict(Value* tensor);
  /// What copy.deepcopy makes of a tensor that is alone in its memory and needs no grad; null for others.
  Value* deep_copy_of_tensor(Value* v);
  Value* storage_offset(Value* tensor);
  /// settled.cpp: the real tensor that a value must be, when it follows from constants alone (borrowed from the trace); else null.
  PyObject* settled(Value* tensor);
  bool settled_nodes(graph::ValueId id, std::unordered_set<int32_t>& nodes) const;
  /// What a call that reads such tensors answers; null for others.
  Value* read_settled(PyObject* callable, const torch::CallableInfo& info, const Values& args, const Keywords& keywords);
  /// type(tensor), or the tensor as an index where `type` is null; null when the tensor is not settled or is no such number.
  Value* settled_number(Value* v, PyObject* type);
  /// Puts numbers in place of settled integer tensors among the operands of a call that failed for `reason`; false when there is none.
  bool settle_numbers(const torch::CallableInfo& info, std::string_view reason, Values& args, Keywords& keywords);
  int32_t storage_id(Value* tensor) const { return graph_->values[static_cast<size_t>(tensor->id)].storage; }
  void realize_tensor(Value* v);
  bool write_may_fail(const graph::Node& node) const;
  void note_tensor(Value* v, graph::ValueId base);
  void came_to_require_grad(graph::ValueId written, const graph::TensorMeta& now);
  std::shared_ptr<const graph::Origin> origin();

  SymFrame& top() { return *frames_.back(); }
  void push(Value* v) { top().stack.push_back(v); }
  Value* pop();
  Value*& peek(int from_top) { return top().stack[top().stack.size() - static_cast<size_t>(from_top)]; }
  void drop(int count) { top().stack.resize(top().stack.size() - static_cast<size_t>(count)); }
  Value* run(size_t base);
  Value* run_nested();
  const std::string& module_path(Value* v);
  const std::string& path_of_module(PyObject* module);
  void find_modules(PyObject* module, PyObject* parent, PyObject* key, int depth);
  Value* super_call(Values& args);
  Value* generator_next(Value* generator) { return generator_resume(generator, nullptr, nullptr); }
  /// Runs a generator to its next yield; null when it returned (items[3] is then its value). `thrown`: raised in it instead of sending.
  Value* generator_resume(Value* generator, Value* sent, Value* thrown);
  Value* generator_method(Value* generator, const std::string& name, Values& args);

  // exceptions made in the trace (exceptions.cpp)
  /// Raises an exception that the program can catch; when nothing would, the executor raises eager's own.
  [[noreturn]] void raise(PyObject* type, Values args = {});
  [[noreturn]] void raise_text(PyObject* type, const std::string& text);
  [[noreturn]] void raise_attribute_error(Value* owner, PyObject* name, const std::string& text);
  /// Raises what the pending Python error is; `what` names it for the case that it can't be modelled.
  [[noreturn]] void raise_pending(const std::string& what);
  [[noreturn]] void raise_value(Value* exception, bool reraise = false);
  [[noreturn]] void stop_iteration(Value* generator);
  /// An instance of an exception class, or null when only a real one will do.
  Value* make_exception(PyTypeObject* type, Values args);
  bool is_exception_of(Value* v, PyObject* cls);
  Value* exception_attribute(Value* exception, PyObject* name, bool* missing);
  bool set_exception_attribute(Value* exception, PyObject* name, Value* value);
  Value* exception_method(Value* exception, const std::string& name, Values& args, Keywords& keywords);
  /// A real object like it, for its texts; null when its arguments are no constants.
  PyObject* real_exception(Value* exception);
  Value* handled_exception() { return handled_; }
  /// Runs `work`; null when it raised an exception of class `cls` that was made in this trace.
  template <class Work>
  Value* catching(PyObject* cls, Work work) {
    ++expecting_;
    try {
      Value* r = work();
      --expecting_;
      return r;
    } catch (Raise& r) {
      --expecting_;
      if (!is_exception_of(r.exception, cls)) throw;
      mutated();
      return nullptr;
    } catch (...) {
      --expecting_;
      throw;
    }
  }
  int outer_nesting() const { return nesting_; }
  /// Number of the outermost frame's present instruction: where what is made now can be made for real (Value::created_at).
  int64_t instruction_of_call() const { return outer_instruction_; }
  size_t depth() const { return frames_.size(); }
  const Options& options() const { return options_; }

 private:
  friend struct Opcodes;
  friend struct ControlOpcodes;
  friend struct Builtins;
  friend struct TensorForms;
  void reset();
  void start(const std::vector<EntryFrame>& entry);
  void finish();
  void check_rebuildable(Value* v, std::unordered_set<Value*>& seen);
  void alias_guards();
  void capture_place(BreakInfo& info);
  /// unknown.cpp: values read out of tensors, as fullgraph sees them.
  void run_watched(bytecode::Instr const& in, SymFrame& f, void (*handler)(Tracer&, SymFrame&, const bytecode::Instr&));
  /// assert of a tensor: a node that fails when it is false, and then plain Python raises.
  void assert_tensor(Value* v, bool wanted = true);
  /// The truth value with which a conditional jump goes past code that only raises; none where it is an ordinary branch.
  std::optional<bool> wanted_by_check(const SymFrame& f, const bytecode::Instr& in) const;
  /// A hook on a tensor: the graph sets it on the real one. The handle can only be dropped; null where more is needed.
  Value* hook_on_tensor(Value* tensor, Value* hook);
  void call_without_result(PyObject* callable, const char* name, Value* v, bool may_fail);
  bool is_assertion(const SymFrame& f, const bytecode::Instr& in) const;
  Value* unbacked(Value* v);
  void note_tolerance(BreakInfo& info);
  policy::FrameView frame_view(const SymFrame& f, const bytecode::Position& position);
  void note_region(SymFrame& f, Value* manager);
  /// The function of breakline.polyfills that stands for `code` with these arguments; borrowed, null when there is none.
  PyObject* polyfill(PyCodeObject* code, Values& args, const Keywords& keywords);
  /// The same for autograd.Function.apply, its class before the arguments.
  PyObject* form_of_apply(const Values& args);
  /// The node that is being made changes the tensor's shape or memory in place: the same object, another graph value. `moved_to`: the
  /// value that it shares memory with from now on.
  void becomes(Value* tensor, graph::TensorMeta now, graph::ValueId moved_to = graph::kNoValue);
  /// tensor.requires_grad_(flag) as a node; null where the program does something that is better seen for real.
  Value* require_grad(Value* tensor, Value* flag);
  /// tensor.data = other as a node; false when it can't be one.
  bool set_data(Value* tensor, Value* other);
  /// polyfills.attach(…): the results of a traced autograd.Function get their history, as a node; null when it has to be done for real.
  Value* attach_function(const Values& args);
  /// nn.Parameter(data, requires_grad) of an ordinary tensor as a node; null for other calls.
  Value* new_parameter(PyObject* cls, const Values& args, const Keywords& keywords);
  // made.cpp: objects that nodes make and that are no plain tensors.
  bool holds_made(Value* v);
  /// An array the call brought along becomes an operand; false for anything else.
  bool array_as_input(Value* v);
  /// What stands for a value where a result's layout is asked; borrowed, null where there is none.
  PyObject* example_of(Value* v);
  /// A call as a node whose results are tensors, arrays or numpy's scalars; null where it can't be one.
  Value* call_made(PyObject* callable, const Values& args, const Keywords& keywords, bool of_numpy);
  Value* call_of_made(PyObject* callable, const Values& args, const Keywords& keywords);
  Value* operate_made(PyObject* function, const Values& args);
  Value* item_of_made(Value* made, Value* key);
  Value* attribute_of_made(Value* made, PyObject* name, bool* missing);
  // regions.cpp
  /// torch.utils.checkpoint.checkpoint and torch.cond: the functions they are given are traced, their nodes become regions. Null for
  /// other calls, and where the call has to be done for real.
  Value* call_with_region(PyObject* function, const Values& args, const Keywords& keywords);
  Value* checkpoint(const Values& args, const Keywords& keywords);
  Value* conditional(const Values& args, const Keywords& keywords);
  /// Traces a call that only computes tensors, its nodes filled in; others go to `call_whole`.
  Value* traced_whole(Value* callee, Values args, Keywords keywords, graph::Region& region);
  /// The trace starts over with the present outer instruction done for real.
  [[noreturn]] void call_whole();
  graph::Node new_node(PyObject* callable, std::string name, const Values& args);
  bool make_dynamic(Value* v);
  Value* open_number(PyObject* now, SourceId source);
  /// What an evaluation of `source` gives now, a number that stays open: each one makes an object of its own, of the same value.
  Value* calculated(PyObject* now, SourceId source);
  /// Whether CPython keeps one object for the number that `v`, an open int, is; stays so under guards.
  bool is_cached_number(Value* v);
  std::vector<bool> open_dims(Value* v, const graph::TensorMeta& m);
  bool holds_open_number(Value* v, bool* integral);
  void log_call(ShapeRecord record, const std::vector<graph::ValueId>& outputs, bool varying);
  /// The value with the dynamic numbers in it as constants, each guarded by its value. For arguments of torch calls only.
  Value* pin_numbers(Value* v);
  void maybe_force_break(const bytecode::Instr& in);
  bool is_forced(int64_t instruction) const;  ///< by the option force_break_every
  /// A module's call from its first instruction to the call of its forward, done at once; false when it is no such simple one.
  bool call_module(SymFrame& f);
  void note_lines(const SymFrame& f);
  void count_loop_round(SymFrame& f, int target);
  std::string source_path(SourceId id) const;
  bool is_varying(const Value* v) const { return !hints_.varying.empty() && v->source >= 0 && hints_.varying.count(source_path(v->source)); }
  void rewind_generator(Value* generator);
  /// lifetimes.cpp: a value whose end is seen, and where it was found last.
  struct Mortal {
    Value* value = nullptr;
    const SymFrame* frame = nullptr;
    size_t depth = 0, index = 0;
    bool on_stack = false;
    bool far = false;       ///< only through the frames of suspended generators
    Value* root = nullptr;  ///< what lies there
  };
  void find_mortals();                 ///< among the values of the entry
  void note_waiting(Value* generator);  ///< it has just been suspended
  bool is_held(Mortal& mortal);
  /// Whether a variable or an operand of the trace's frames leads to an object made here, not through a weak reference.
  bool is_named(const Value* v) const;
  /// After the outer instruction with the number `at`: what it let go of ends now.
  void settle_deaths(int64_t at, bool raised);
  void close_dead(Value* generator, int64_t at);
  void close_at_return(Value* result, int64_t at);
  static bool must_be_real(const Value* v);  ///< a generator that waits inside try
  [[noreturn]] void rewind_to(int64_t instruction, const std::string& what);
  bool would_be_caught() const;
  void set_context(Value* exception);
  void unwind(Raise& r, size_t base);
  Value* delegate_of(Value* generator);
  /// throw() and close() of a generator; they go to what it waits for in `yield from` first.
  Value* generator_throw(Value* generator, Values& args);
  Value* generator_close(Value* generator);
  Value* throw_through(Value* generator, Value* delegate, Values& args);
  /// Closes what a generator waits for; the exception that this raised, or null.
  Value* close_delegate(Value* generator, Value* delegate);
  /// Does `work` while the generator counts as running; the exception that it raised, or null.
  Value* raised_while_running(Value* generator, const std::function<void()>& work);
  /// The generator goes on behind its `yield from`, which has this value.
  Value* end_delegation(Value* generator, Value* result);

  Options options_;
  const SiteHints& hints_;
  std::string target_;
  PyObject* const* slots_ = nullptr;
  size_t slot_count_ = 0;
  PyObject* handled_object_ = nullptr;

  ValueArena arena_;
  std::vector<py::Ref> constants_;
  std::vector<py::Ref> transient_;
  guard::SourceTable sources_;
  std::vector<guard::GuardStep> steps_;
  std::vector<guard::GuardProgram::Drawn> drawn_;  ///< in the order in which they are made
  std::vector<guard::TypeRecord> types_;
  std::vector<guard::TensorRecord> tensors_;
  std::vector<std::vector<SourceId>> groups_;
  std::unordered_map<PyTypeObject*, int> type_index_;
  /// An object and a name that is looked for in it: both are alive as long as the table.
  struct Named {
    const void* holder = nullptr;
    PyObject* name = nullptr;
    bool operator==(const Named&) const = default;
  };
  struct NamedHash {
    size_t operator()(const Named& n) const {
      return MixHash()(reinterpret_cast<uintptr_t>(n.holder) + (reinterpret_cast<uintptr_t>(n.name) << 7));
    }
  };
  struct Lookup {
    PyObject* found = nullptr;
    unsigned version = 0;  ///< of the type then
  };
  FlatMap<Named, Lookup, NamedHash> lookups_;            ///< what `lookup` has answered and recorded
  FlatMap<Named, int, NamedHash, true> places_;                ///< where a dict's entry of a name was found last
  FlatMap<PyObject*, PyCodeObject*> plain_functions_;    ///< Python functions whose calls mean nothing but their code
  FlatMap<PyObject*, Value*> namespaces_;                ///< globals and builtins
  struct GuardKey {
    guard::StepKind kind = guard::StepKind::kFetch;
    SourceId source = kNoSource;
    int64_t number = 0;
    PyObject* object = nullptr;
    bool operator==(const GuardKey&) const = default;
  };
  struct GuardKeyHash {
    size_t operator()(const GuardKey& k) const {
      size_t h = static_cast<size_t>(k.kind);
      for (size_t p : {static_cast<size_t>(k.source), static_cast<size_t>(k.number), reinterpret_cast<size_t>(k.object)})
        h = (h ^ p) * 0x9E3779B97F4A7C15ull;
      return h ^ h >> 32;
    }
  };
  FlatMap<GuardKey, bool, GuardKeyHash, true> seen_guards_;
  std::vector<bool> fetched_;
  Values by_source_;  ///< by source + 1: the first is for values without one
  FlatMap<PyObject*, Value*> by_object_;
  FlatMap<PyObject*, Value*, MixHash, true> constants_by_object_;

  std::shared_ptr<graph::Graph> graph_;
  std::vector<SourceId> input_sources_;
  Values input_values_;
  Values tensor_values_;       ///< by graph value; null for numbers
  ShapeLog log_;
  bool logging_ = false, must_log_ = false, closed_all_ = false;
  std::unordered_set<std::string> closed_;                   ///< paths of tensors whose sizes are not left open
  std::vector<bool> varies_;                                 ///< by graph value
  std::unordered_map<graph::ValueId, int> open_inputs_;      ///< → index of the tensor record
  std::vector<ArgPatch>* patches_ = nullptr;                 ///< where argument() notes open numbers instead of adding inputs
  std::vector<int32_t> patch_path_;
  std::vector<graph::ValueId> view_base_;   ///< by graph value: what it is a differentiable view of, else itself
  std::unordered_set<graph::ValueId> stale_;  ///< views whose requires_grad is not known since a write to their base
  std::unordered_map<graph::ValueId, py::Ref> settled_;  ///< tensors computed from constants
  std::unordered_set<graph::ValueId> inference_;  ///< bases whose tensors are inference tensors: no version, not to be written outside
  bool history_written_ = false;              ///< an input's autograd history was changed by a node
  std::vector<const void*> grad_writes_;      ///< storages of inputs that came to require grad
  std::vector<std::unique_ptr<SymFrame>> frames_;
  std::vector<std::unique_ptr<SymFrame>> spare_frames_;  ///< of calls that have returned, for their room
  std::vector<Effect> effects_;
  Values entry_values_;  ///< bound locals and operands at the entry
  bool released_ = false;
  Values touched_;  ///< live lists, sets and cells that were changed
  Value* handled_ = nullptr;
  Value* return_value_ = nullptr;
  ExitKind exit_ = ExitKind::kReturn;
  BreakInfo break_;
  torch::Ambient entry_ambient_;

  int64_t instruction_count_ = 0;
  int64_t outer_instruction_ = 0;
  int nesting_ = 0;
  int64_t mutations_ = 0;
  int restarts_ = 0;
  struct EnteredMode {
    Value* mode;
    int64_t entered_at;
    BreakInfo info;
  };
  std::vector<EnteredMode> modes_;  ///< torch-function modes that the trace has entered, innermost last
  std::map<int64_t, BreakInfo> forced_;
  size_t progress_nodes_ = 0, progress_steps_ = 0;  ///< nodes and guard steps when a loop last added a node
  int64_t progress_at_ = 0;                         ///< instruction count then
  std::vector<const bytecode::Code*> codes_;
  std::unordered_map<const bytecode::Code*, std::pair<int, int>> instruction_ranges_;
  std::vector<RegionSeen> regions_;
  struct ModulePlace {
    PyObject *parent = nullptr, *key = nullptr;  ///< where it hangs; null for the outermost one
  };
  FlatMap<PyObject*, ModulePlace> module_places_;
  std::unordered_map<PyObject*, std::string> module_paths_;  ///< of those that were asked for
  struct ModuleClass {
    unsigned version = 0;         ///< of the class when it was found to call its forward plainly
    PyObject *call = nullptr, *forward = nullptr;
  };
  FlatMap<PyTypeObject*, ModuleClass> module_classes_;  ///< see call_module
  size_t globals_checked_ = 0;                          ///< effects when it looked at what all modules share, and one
  std::shared_ptr<const graph::Origin> last_origin_;
  int64_t last_origin_at_ = -1;
  bool yielded_ = false;
  std::unique_ptr<SymFrame> yielded_frame_;
  size_t run_base_ = 0;
  bool watching_ = false;           ///< some value of the entry was read out of a tensor
  int expecting_ = 0;               ///< builtins on the way that catch what is raised
  Values generators_;  ///< made in this trace and started
  std::vector<Mortal> mortals_;
  struct ClassWrite {
    PyTypeObject* type;
    PyObject* name;
    Value* value;
  };
  std::vector<ClassWrite> class_writes_;
  std::unordered_map<PyObject*, int64_t> made_objects_;  ///< classes of build_class and what they hold → instruction
  int64_t arrays_made_ = 0;                             ///< by numpy, in this trace
  std::unordered_map<SourceId, int64_t> draws_;         ///< sources of numbers that are drawn, and the instruction that did
  std::map<int64_t, BreakInfo> made_at_;                 ///< the break that each such statement is when it has to be real
  std::unordered_map<Value*, Value*> identities_;
  bool has_made_ = false;                               ///< some value is a kMade
  bool made_weak_reference_ = false;                    ///< weakref.ref was called in this trace
  std::unordered_map<graph::ValueId, PyObject*> twins_;  ///< of tensors that were operands of numpy
  std::unordered_set<int64_t> whole_calls_;  ///< outer instructions whose function can't be a region; kept when the trace starts over
};

}  // namespace breakline::trace
