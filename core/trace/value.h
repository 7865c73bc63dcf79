// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/base/pool.h"
#include "core/bytecode/code.h"
#include "core/graph/graph.h"
#include "core/guard/source.h"

namespace breakline::trace {

using guard::kNoSource;
using guard::SourceId;

/// What the tracer knows of a Python value.
enum class Kind : uint8_t {
  kConstant,  ///< `object` is the value, immutable or identity-guarded
  kLive,      ///< an existing object that has not been looked at (or is opaque); `object`, `source`
  kTensor,    ///< `id` in the graph
  kTuple,     ///< items; `type` is a named tuple's class or null
  kList,
  kDict,   ///< `entries`; `type` for OrderedDict and defaultdict
  kSet,    ///< `shadow` holds the content; `items` the order of a live, unchanged one
  kSlice,  ///< three items
  kIterator,
  kFunction,   ///< made in this trace: `object` = code; items: defaults, kwdefaults, closure, annotations
  kMethod,     ///< items: function, self
  kCell,       ///< items[0]: content or null
  kInstance,   ///< made in this trace: `object` = class; attributes in `attributes`
  kSuper,      ///< items: class, self
  kGenerator,  ///< suspended frame
  kDictView,   ///< items[0] = dict; `number`: 0 keys, 1 values, 2 items
  kPartial,    ///< functools.partial made here: items: function, args tuple, keywords dict
  kTraceback,  ///< entry of the traceback of an exception made here: `entry`, items[0]: the next one or null
  kNative,     ///< an object of C made here: `object` is a twin that has seen the same `calls`
  kIdentity,   ///< id() of items[0]
  kMade,       ///< made by a node at each run, no plain tensor (made.cpp): `id` in the graph, `object` = a twin of the same layout
};

enum class IteratorKind : uint8_t {
  kSequence,
  kRange,
  kZip,
  kEnumerate,
  kMap,
  kFilter,
  kReversed,
  kDictView,
  kChain
};

struct Value;
struct SymFrame;
using Values = std::vector<Value*, PoolAllocator<Value*>>;

struct DictEntry {
  Value* key = nullptr;
  Value* value = nullptr;  ///< null: known to be absent
  bool added = false;      ///< of a live dict: put there by the trace, behind what was there; also a key deleted and set again
  int32_t rank = 0;        ///< see DictData::reordered
};

using DictEntries = std::vector<DictEntry, PoolAllocator<DictEntry>>;

/// A dict's content or, for a live dict, what is known and changed of it.
struct DictData {
  static void* operator new(size_t bytes) { return Pool::take(bytes); }
  static void operator delete(void* memory, size_t bytes) { Pool::give(memory, bytes); }
  DictEntries entries;
  std::unordered_multimap<Py_hash_t, int> index;  ///< built when there are many entries
  int layout = 0;                                 ///< changes with every key that comes or goes
  /// Whether the existing dict holds keys whose classes say what they are equal to; asked once.
  std::optional<bool> coded_keys;
  /// Of an OrderedDict whose own order is not that of the dict below it (move_to_end): there the entries lie by their ranks, those
  /// without one behind them as they come.
  bool reordered = false;
  /// Notes the order of the dict below; before entries change places.
  void rank_entries();
  /// The entries in the order of the dict below.
  DictEntries below() const;
};

inline void DictData::rank_entries() {
  int32_t last = 0;
  for (const DictEntry& e : entries) last = reordered && e.rank > last ? e.rank : last;
  for (DictEntry& e : entries)
    if (!reordered || !e.rank) e.rank = ++last;
  reordered = true;
}

inline DictEntries DictData::below() const {
  DictEntries all = entries;
  const auto place = [](const DictEntry& e) { return e.rank ? e.rank : std::numeric_limits<int32_t>::max(); };
  if (reordered) std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return all;
}

/// One entry of the traceback of an exception raised in the trace.
struct TracebackEntry {
  const bytecode::Code* code;
  int index;            ///< instruction
  PyObject* globals;
};

/// An exception made in the trace (a kInstance) beyond its attributes.
struct ExceptionData {
  Value* args = nullptr;                  ///< tuple
  Value *context = nullptr, *cause = nullptr;
  Value *name = nullptr, *owner = nullptr;  ///< AttributeError.name and .obj, NameError.name
  bool suppress = false;                  ///< __suppress_context__
  bool initialised = false;               ///< the native __init__ ran
  Value* traceback = nullptr;             ///< kTraceback or a live one: its outermost entry
};

/// One step in a set's history. The order a set is iterated in depends on how it came about, so a set is
/// rebuilt by doing the same to a new one.
struct SetOperation {
  enum Kind : uint8_t {
    kAdd,
    kDiscard,
    kClear,
    kUpdate,  ///< set.<method>(item) in place
    kDerive,  ///< the set becomes set.<method>(item); item null: set.<method>()
  } kind;
  PyObject* item = nullptr;
  const char* method = nullptr;
};
/// Carries `op` out on `set`: true, or false with the error set. `set` may be replaced (kDerive); it owns its
/// object. GIL.
bool apply_set_operation(py::Ref& set, const SetOperation& op);

/// One step in the history of an object of C: it is rebuilt by doing the same to a new one. The first makes it.
struct NativeCall {
  PyObject* callable = nullptr;    ///< kept by the trace; the object itself comes first among the arguments, but for the first call
  Values args;
  std::vector<PyObject*> names;    ///< of the last arguments, where they are keywords
};

/// One abstract value; owned by the tracer's arena, compared by address (identity of the object it stands
/// for).
struct Value {
  Kind kind = Kind::kConstant;
  IteratorKind iterator = IteratorKind::kSequence;
  bool loaded = false;  ///< live list or dict: all items known
  bool dirty = false;   ///< changed in this trace
  bool measured = false;  ///< live dict: its length was looked at
  bool type_guarded = false;
  bool exhausted = false;
  bool strict = false;         ///< zip(strict=True)
  bool function_live = false;  ///< live function guarded by its code, not by identity
  bool dynamic = false;        ///< a number that stays a number of its source
  bool stand_in = false;       ///< of a Python form of something native (forms.cpp): can't be rebuilt, only made for real at `created_at`
  bool unbacked = false;       ///< under fullgraph: the value, or the tensor's shape, was read out of a tensor
  SourceId source = kNoSource;
  graph::ValueId id = graph::kNoValue;
  PyObject* object = nullptr;
  PyTypeObject* type = nullptr;
  Values items;
  std::unique_ptr<DictData> dict;
  Value* content = nullptr;           ///< kLive, kInstance of a dict or list subclass: what it holds
  Value* owner = nullptr;             ///< of a content: the instance
  Value* attributes = nullptr;        ///< instance dict (kLive, kInstance, kFunction)
  PyObject *globals = nullptr, *builtins = nullptr, *qualname = nullptr;
  std::unique_ptr<SymFrame> frame;    ///< kGenerator
  Value* handled = nullptr;           ///< kGenerator: what it handles while it is suspended
  std::unique_ptr<ExceptionData> exception;  ///< kInstance of an exception class
  std::unique_ptr<TracebackEntry> entry;     ///< kTraceback
  std::vector<SetOperation> history;  ///< kSet
  int64_t position = 0, stop = 0, step = 1;
  int64_t created_at = 0;  ///< outer instruction count, for what can only be made anew by that instruction
  std::vector<NativeCall> calls;  ///< kNative
  int number = 0;
  PyObject* shadow = nullptr;  ///< kSet: a set with the present content
};

/// The values of one trace, in blocks; an address stays. Blocks are kept for the next trace. GIL.
class ValueArena {
 public:
  ValueArena() = default;
  ValueArena(const ValueArena&) = delete;
  ~ValueArena() { clear(); }
  Value* make();
  void clear();

 private:
  static constexpr size_t kBlock = 64;
  static std::vector<void*>& spare();
  std::vector<void*> blocks_;  ///< room for kBlock values each
  size_t used_ = kBlock;       ///< values in the last block
};

enum class ReturnMode : uint8_t { kPush, kDiscard };

/// A nested compiled function's own settings, when its frame was entered inside another trace.
struct CompileRoot {
  bool is_root = false;
  bool fullgraph = false;
};

/// One symbolic frame.
struct SymFrame {
  const bytecode::Code* code = nullptr;
  Value* function = nullptr;  ///< constant, live or kFunction value; null when unknown
  PyObject *globals = nullptr, *builtins = nullptr, *locals = nullptr;
  int pc = 0;
  int current = 0;                     ///< instruction under execution
  int lowest = 1 << 30, highest = -1;  ///< range of instructions run so far
  ReturnMode on_return = ReturnMode::kPush;
  bool generator = false;
  Value* constructed = nullptr;  ///< kDiscard: what the caller gets instead of the return value
  CompileRoot compile_root;
  int resumed_line = 0;         ///< line of the break this frame was resumed after; 0 = entered here
  int64_t entered_at = 0;       ///< outer instruction count of the call that made it
  std::vector<std::pair<int, int64_t>> last_round;  ///< instruction count at the last jump back, by target
  Values locals_;  ///< slots
  Values stack;

  /// As new, but for the room of its vectors.
  void clear() {
    std::vector<std::pair<int, int64_t>> rounds = std::move(last_round);
    Values slots = std::move(locals_), operands = std::move(stack);
    rounds.clear();
    slots.clear();
    operands.clear();
    *this = SymFrame();
    last_round = std::move(rounds);
    locals_ = std::move(slots);
    stack = std::move(operands);
  }
};

inline std::vector<void*>& ValueArena::spare() {
  static auto* blocks = new std::vector<void*>;  // never freed
  return *blocks;
}

inline Value* ValueArena::make() {
  if (used_ == kBlock) {
    if (spare().empty()) {
      blocks_.push_back(::operator new(kBlock * sizeof(Value)));
    } else {
      blocks_.push_back(spare().back());
      spare().pop_back();
    }
    used_ = 0;
  }
  return new (static_cast<Value*>(blocks_.back()) + used_++) Value;
}

inline void ValueArena::clear() {
  constexpr size_t kMostSpare = 64;
  while (!blocks_.empty()) {
    auto* values = static_cast<Value*>(blocks_.back());
    for (size_t i = 0; i < used_; ++i) values[i].~Value();
    if (spare().size() < kMostSpare) spare().push_back(values);
    else ::operator delete(values);
    blocks_.pop_back();
    used_ = kBlock;
  }
}

}  // namespace breakline::trace
