// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/segment/machine.h"

#include <algorithm>
#include <exception>

#include "core/guard/marks.h"
#include "core/resume/bind.h"
#include "core/resume/unwind.h"
#include "core/segment/constraints.h"
#include "core/segment/options.h"
#include "core/segment/profile.h"
#include "core/segment/region.h"
#include "core/segment/turn.h"
#include "core/segment/variation.h"
#include "core/torch/modes.h"
#include "core/torch/region_run.h"
#include "core/torch/tensor.h"
#include "core/trace/guard_place.h"

namespace breakline::segment {

using resume::Outcome;
using resume::State;

namespace {

/// Counts the calls that run on a root's segments, so that a reset does not free them.
struct RunningScope {
  Root& root;
  explicit RunningScope(Root& r) : root(r) { ++root.running; }
  ~RunningScope() { --root.running; }
};

/// Owned references in a borrowed vector.
struct OwnedList {
  explicit OwnedList(std::vector<PyObject*>& v) : items(v) {}
  ~OwnedList() { clear(); }
  OwnedList(const OwnedList&) = delete;
  void clear() {
    for (PyObject* o : items) Py_XDECREF(o);
    items.clear();
  }
  std::vector<PyObject*>& items;
};

/// What a running call needs, kept for the next one: making it anew costs more than a small call.
struct Scratch {
  State state, next;
  guard::GuardContext context;
  std::vector<PyObject*> outputs, made;
};

/// Nested calls and other threads each take their own. With the GIL.
class ScratchLease {
 public:
  ScratchLease() {
    auto& free = pool();
    if (free.empty()) {
      scratch_ = new Scratch;
    } else {
      scratch_ = free.back();
      free.pop_back();
    }
  }
  ~ScratchLease() {
    scratch_->context.release();
    scratch_->state.clear();
    scratch_->next.clear();
    constexpr size_t kMost = 16;
    if (pool().size() < kMost) pool().push_back(scratch_);
    else delete scratch_;
  }
  ScratchLease(const ScratchLease&) = delete;
  Scratch& operator*() const { return *scratch_; }

 private:
  static std::vector<Scratch*>& pool() {
    static auto* free = new std::vector<Scratch*>;
    return *free;
  }
  Scratch* scratch_;
};

std::vector<int> lines_of(const State& state) {
  std::vector<int> lines;
  for (size_t i = 0; i < state.frames.size(); ++i) {
    const resume::Frame& f = state.frames[i];
    int at = i + 1 < state.frames.size() ? f.pc - 1 : f.pc;
    lines.push_back(f.code->position(std::max(0, at)).line);
  }
  return lines;
}

/// Slots with values read out of tensors once the exit's instruction of `s` was carried out.
std::vector<int32_t> unbacked_after(const Segment& s, State& state) {
  const auto last = static_cast<int32_t>(state.slots.size()) - 1;
  std::vector<int32_t> after;
  bool fresh = s.reads;
  for (int32_t i : s.unbacked) {
    if (i < last) after.push_back(i);
    else fresh = fresh || s.exit != trace::ExitKind::kBreak;  // an operand: what comes of it
  }
  if (fresh && last >= 0 && state.top().stack > 0) after.push_back(last);
  return after;
}

/// Replaces the callee of the call that comes next when only its own body is to stay plain Python.
void skip_body(State& state, bool whole) {
  const bytecode::Instr& next = state.top().code->instrs[static_cast<size_t>(state.top().pc)];
  if (next.op != bytecode::Op::kCall) return;
  bytecode::CallSlots slots =
      bytecode::call_slots(next.arg, state.operand(next.arg + 2) == nullptr);
  PyObject*& callee = state.operand(slots.callable);
  if (!callee || !PyFunction_Check(callee)) return;
  PyObject* stand_in = whole ? options().plain_callee(callee) : options().skipping_callee(callee);
  if (!stand_in) return;
  PyObject* old = callee;
  callee = stand_in;
  Py_DECREF(old);
}

/// The state of Python's own generator, as `random` gives and takes it.
struct PythonRandom {
  py::Ref random, state;

  bool save() {
    random = py::Ref::steal(PyImport_ImportModule("random"));
    state = random ? py::Ref::steal(PyObject_CallMethod(random.get(), "getstate", nullptr)) : py::Ref();
    return static_cast<bool>(state);
  }
  void restore() {
    if (!state) return;
    py::SavedError saved;
    Py_XDECREF(PyObject_CallMethod(random.get(), "setstate", "(O)", state.get()));
    PyErr_Clear();
  }
};

/// A copy of what a failing segment may have changed before it failed.
struct Restorer {
  struct Saved {
    py::Ref tensor, copy;
    int64_t version;
  };
  std::vector<Saved> tensors;
  py::Ref rng;

  bool save(const Restoration& r, const guard::GuardContext& c) {
    for (guard::SourceId id : r.mutated_inputs) {
      PyObject* t = c.values[static_cast<size_t>(id)];
      py::Ref detached = py::Ref::steal(PyObject_CallMethod(t, "detach", nullptr));
      py::Ref copy = detached ? py::Ref::steal(PyObject_CallMethod(detached.get(), "clone", nullptr)) : py::Ref();
      if (!copy) return false;
      tensors.push_back({py::Ref::borrow(t), copy, torch::version_of(t)});
    }
    if (r.rng) {
      py::Ref torch = py::Ref::steal(PyImport_ImportModule("torch"));
      rng = torch ? py::Ref::steal(PyObject_CallMethod(torch.get(), "get_rng_state", nullptr)) : py::Ref();
      if (!rng) return false;
    }
    return true;
  }
  void restore() {
    py::SavedError saved;
    for (const Saved& t : tensors) {
      py::Ref plain = py::Ref::steal(PyObject_CallMethod(t.tensor.get(), "detach", nullptr));
      if (plain) Py_XDECREF(PyObject_CallMethod(plain.get(), "copy_", "O", t.copy.get()));
      PyErr_Clear();
      torch::set_version(t.tensor.get(), t.version);
    }
    if (rng) {
      py::Ref torch = py::Ref::steal(PyImport_ImportModule("torch"));
      if (torch) Py_XDECREF(PyObject_CallMethod(torch.get(), "set_rng_state", "O", rng.get()));
      PyErr_Clear();
    }
  }
};

/// Takes the times of one call while its root is profiled, or its marks for a timeline; does nothing otherwise.
class Stopwatch {
 public:
  explicit Stopwatch(const Root& root)
      : profile_(active_profile && active_profile->root == &root ? active_profile : nullptr) {
    if (!profile_) return;
    kernels_.timeline = profile_->timeline;
    if (!mark(MarkKind::kCall, -1)) left_ = graph::profile_clock_ns();
  }
  bool on() const { return profile_ != nullptr; }
  /// `plan`: the one that runs; times by kernel are those of the segment's own plan.
  graph::KernelTimes* kernels(const Segment& s, const graph::Plan* plan) {
    if (!profile_ || (kernels_.timeline && plan != s.plan.get())) return nullptr;
    kernels_.ns.assign(plan && plan == s.plan.get() ? plan->info().kernels.size() : 0, -1);
    return &kernels_;
  }
  void plan_begins(const Segment& s) {
    if (!profile_ || mark(MarkKind::kEntered, s.id)) return;
    begun_ = graph::profile_clock_ns();
    if (first_) profile_->add_entry(begun_ - left_);
    first_ = false;
    close_break(begun_);
  }
  void plan_ended(const Segment& s) {
    if (!profile_ || mark(MarkKind::kPlan, s.id)) return;
    left_ = graph::profile_clock_ns();
    if (s.plan) profile_->add_segment(s.id, left_ - begun_, kernels_);
  }
  void instruction_begins(int break_index) {
    if (!profile_ || mark(MarkKind::kLeft, break_index)) return;
    break_ = break_index;
    instruction_ = done_ = graph::profile_clock_ns();
  }
  void instruction_ended() {
    if (profile_ && !mark(MarkKind::kInstruction, -1)) done_ = graph::profile_clock_ns();
  }
  /// A segment was made in between: that is compile time, no price of the break.
  void compiled() {
    if (profile_) mark(MarkKind::kCompiled, -1);
    break_ = -1;
    first_ = false;
  }
  /// The call ended without another segment.
  void finish() {
    if (!profile_ || mark(MarkKind::kReturn, -1)) return;
    close_break(done_);
    profile_->add_exit(graph::profile_clock_ns() - std::max(left_, done_));
  }

 private:
  using MarkKind = base::MarkKind;
  /// Whether a timeline took it.
  bool mark(MarkKind kind, int id) {
    if (!profile_->timeline) return false;
    profile_->timeline->mark(kind, id);
    return true;
  }
  void close_break(int64_t entered) {
    if (break_ >= 0) profile_->add_break(break_, instruction_ - left_, done_ - instruction_, entered - done_);
    break_ = -1;
  }

  Profile* profile_;
  graph::KernelTimes kernels_;
  bool first_ = true;
  int break_ = -1;
  int64_t begun_ = 0, left_ = 0, instruction_ = 0, done_ = 0;
};

/// One call of a root.
class Run {
 public:
  Run(Root& root, Scratch& scratch)
      : root_(root),
        scratch_(scratch),
        state_(scratch.state),
        context_(scratch.context),
        region_(region_state()),
        ambient_(region_.flag),
        resets_(root.resets),
        watch_(root) {}
  ~Run() { watch_.finish(); }
  PyObject* go();

 private:
  enum class Next : uint8_t { kSite, kDone, kError };
  Segment* find(Site& site);
  /// How many variants a site may have, given how the present call differs from those it has.
  int limit_of(const Site& site) const;
  int steps_ = 0;  ///< that were left to the executor in this call because of the limit
  /// One variant too many past a break: whether one instruction is left to the executor instead of the whole rest.
  bool may_step(Site& site);
  /// One variant too many: true when the site goes on without tracing, false when that is an error (which is set).
  bool give_up_tracing(Site& site);
  Next run_segment(Segment& s, PyObject** result);
  Next run_plan(Segment& s, OwnedList& outputs, bool* failed);
  /// Executes the instruction at the top; `s` is the segment that led here, or null.
  Next step(Segment* s, bool region, PyObject** result);
  Next after_raise(bool reraise, PyObject** result);
  /// Executes until an exception was handled or the root is done.
  Next run_to_exception(PyObject** result);
  Next run_loop(Segment& s, PyObject** result);
  /// A break at the present instruction that PyTorch has not: a mode or transform is in force, which has to see each call, or tracing pays no more.
  void note_untraced(const std::string& reason, std::vector<std::pair<std::string, std::string>> arguments);
  /// Executes at least one instruction, and on while `more()`, or until the root is done.
  template <class More>
  Next run_untraced(More more, PyObject** result);
  /// Runs as plain Python until fewer than `depth` frames are left; functions of the user that are called are compiled.
  Next run_plainly(size_t depth, bool region, PyObject** result);
  PyObject* run_rest();
  void note_edge(Segment& to);
  /// Whether a segment whose guards hold fits the sizes of this call as well.
  bool fits(Segment& s);
  Root& root_;
  Scratch& scratch_;
  State& state_;
  guard::GuardContext& context_;
  RegionState& region_;
  bool ambient_;
  /// Code that breaks again and again without an operation gains nothing by being traced. After so many segments of that kind were made
  /// in one call, one after the other, some instructions are left to the executor before a few more are tried.
  static constexpr int kMostBarren = 1024, kBarrenInstructions = 20'000, kBarrenRetries = 8;
  int barren_ = 0;
  bool by_size_ = false;   ///< what `find` met differed in sizes or numbers only
  Segment* missed_ = nullptr;  ///< the last one it met that did not fit, and the guard that failed
  int missed_step_ = -1;
  std::shared_ptr<Instance> instance_;  ///< of the segment found, when it has some
  uint64_t resets_;  ///< of the root when the call began; later its lists belong to others
  Stopwatch watch_;
  Site* site_ = nullptr;
  Segment* previous_ = nullptr;
};

Segment* Run::find(Site& site) {
  context_.slots = state_.slots.data();
  context_.slot_count = state_.slots.size();
  context_.handled = state_.handled;
  auto& list = site.segments;
  by_size_ = true;
  missed_ = nullptr;
  for (size_t i = 0; i < list.size(); ++i) {
    Segment* s = list[i].get();
    if (s->dead || s->with_handled != (state_.handled != nullptr) || (s->with_torch && !torch::ambient_matches(s->ambient))) {
      by_size_ = by_size_ && s->dead;
      continue;
    }
    if (s->guards.check(context_)) {
      if (fits(*s)) {
        if (i) std::swap(list[i], list[i - 1]);
        return s;
      }
      missed_ = s;
      missed_step_ = instance_ ? instance_->failed_step : -1;
      continue;
    }
    by_size_ = by_size_ && s->guards.differs_by_size(context_);
    missed_ = s;
    missed_step_ = context_.failed_step;
  }
  return nullptr;
}

bool Run::fits(Segment& s) {
  instance_ = nullptr;
  if (!s.shapes) return true;
  instance_ = s.shapes->find(s, context_);
  if (!instance_) {
    TraceTurn turn;
    if (turn.waited() && !s.guards.check(context_)) return false;
    if (!s.shapes->prepare(root_, s, context_) || !s.guards.check(context_)) return false;
    instance_ = s.shapes->find(s, context_);
  }
  return instance_ && instance_->fits;
}

int Run::limit_of(const Site&) const {
  // PyTorch would have made such a size or number dynamic: those that differ in it only don't use up its limit.
  constexpr int kMostBySize = 64;
  const int limit = root_.recompile_limit ? root_.recompile_limit : options().recompile_limit;
  const bool own_choice = root_.recompile_limit || options().recompile_limit != kRecompileLimit || root_.static_sizes;
  return by_size_ && !own_choice ? std::max(limit, kMostBySize) : limit;
}

bool Run::may_step(Site& site) {
  constexpr int kMostSites = 32, kMostSteps = 512;  // the latter in one call
  const bool own_choice = root_.recompile_limit || options().recompile_limit != kRecompileLimit;
  if (&site == root_.entry_site() || own_choice || root_.compiled_strictly) return false;
  if (!site.stepping && root_.stepping_sites < kMostSites) {
    site.stepping = true;
    ++root_.stepping_sites;
  }
  return site.stepping && ++steps_ <= kMostSteps;
}

bool Run::give_up_tracing(Site& site) {
  const bytecode::Code* code = site.frames.back().code;
  std::string difference;
  if (missed_) {
    // All that differs, not the first thing alone, each with the line that looked at it.
    guard::GuardProgram& p = missed_->guards;
    std::vector<int> steps = {missed_step_};
    if (missed_step_ >= 0 && static_cast<size_t>(missed_step_) < p.steps.size() && !p.check(context_)) steps = p.differing(context_);
    for (const int step : steps) {
      const std::string what = p.describe(step, site.frames.size() == 1 ? code->code->co_localsplusnames : nullptr), where = trace::guard_place(p.step(step));
      difference += (difference.empty() ? "" : "; ") + what + (where.empty() ? "" : " (" + where + ")");
    }
  }
  // What was read out of tensors has any value: such a site is none that PyTorch would compile again.
  if (root_.compiled_strictly && site.hints.unbacked.empty()) {
    trace::BreakInfo info;
    info.reason = "recompile-limit";
    info.arguments = {{"function", code->qualname}, {"limit", std::to_string(site.segments.size())}, {"guard", difference}};
    trace::PlaceFrame place;
    place.file = code->file;
    place.function = place.code_name = code->name;
    place.position = code->position(std::max(0, site.frames.back().pc));
    info.place.push_back(std::move(place));
    policy::Resolution error;
    error.error = true;
    error.source = root_.fullgraph ? "fullgraph" : "default";
    const int index = root_.break_index(info);
    root_.breaks[static_cast<size_t>(index)].policy = error;
    raise_break(root_, info, error, index);
    return false;
  }
  root_.skip(code->qualname, code->file, code->first_line,
             "recompile-limit" + (difference.empty() ? "" : ": the call differs from a variant by " + difference));
  site.executor = true;
  return true;
}

void Run::note_edge(Segment& to) {
  if (!previous_ || root_.resets != resets_) return;
  auto& known = previous_->followed;
  if (std::find(known.begin(), known.end(), &to) != known.end()) return;
  known.push_back(&to);
  root_.edges.insert({previous_->id, to.id, previous_->break_index});
}

Run::Next Run::run_plan(Segment& s, OwnedList& outputs, bool* failed) {
  *failed = false;
  PythonRandom before;
  if (!s.guards.drawn.empty() && (!before.save() || !s.guards.draw(context_))) {
    PyErr_Clear();
    before.restore();
    *failed = true;
    return Next::kSite;
  }
  outputs.items.assign(s.graph->outputs.size(), nullptr);
  graph::Plan* plan = instance_ ? instance_->plan : s.plan.get();
  const Restoration& restoration = instance_ ? instance_->restoration : s.restoration;
  const std::shared_ptr<Instance> held = instance_;  // nested calls may push it out
  if (!plan) {
    watch_.plan_begins(s);
    watch_.plan_ended(s);
    return Next::kSite;
  }
  PyObject* buffer[64];
  std::vector<PyObject*> many;
  PyObject** inputs = buffer;
  if (s.inputs.size() > 64) {
    many.resize(s.inputs.size());
    inputs = many.data();
  }
  for (size_t i = 0; i < s.inputs.size(); ++i) inputs[i] = context_.values[static_cast<size_t>(s.inputs[i])];
  Restorer restorer;
  bool restorable = restoration.needed();
  if (restorable && !restorer.save(restoration, context_)) PyErr_Clear();
  int node;
  {
    graph::KernelTimesScope times(watch_.kernels(s, plan));
    watch_.plan_begins(s);
    node = plan->run(reinterpret_cast<graph::ObjectHandle const*>(inputs),
                       reinterpret_cast<graph::ObjectHandle*>(outputs.items.data()));
  }
  if (node < 0) {
    watch_.plan_ended(s);
    return Next::kSite;
  }
  if (s.with_torch && torch::recomputation_ends()) return Next::kError;
  *failed = true;
  PyErr_Clear();
  std::fill(outputs.items.begin(), outputs.items.end(), nullptr);
  if (restorable) restorer.restore();
  before.restore();
  if (s.with_torch && !torch::ambient_matches(s.ambient)) torch::restore_ambient(s.ambient);
  return Next::kSite;
}

Run::Next Run::run_segment(Segment& s, PyObject** result) {
  ++s.runs;
  if (s.gives_up) {
    if (root_.resets == resets_) ++root_.breaks[static_cast<size_t>(s.break_index)].events;
    context_.release();
    previous_ = nullptr;
    return run_plainly(1, s.region, result);
  }
  OwnedList outputs(scratch_.outputs);
  bool failed;
  if (run_plan(s, outputs, &failed) == Next::kError) return Next::kError;
  if (failed) {
    previous_ = nullptr;
    return run_to_exception(result);
  }
  OwnedList made(scratch_.made);
  PyObject* const* values = context_.values;
  if (!s.recipe.make_early(values, outputs.items.data(), made.items) || !s.effects.apply_early(made.items) ||
      !s.recipe.make_late(values, outputs.items.data(), made.items) || !s.effects.apply_late(made.items) ||
      (s.recipe.iterators && !s.recipe.place_iterators(made.items)))
    return Next::kError;
  auto share = [&](int32_t i) -> PyObject* { return i < 0 ? nullptr : Py_NewRef(made.items[static_cast<size_t>(i)]); };
  if (s.exit == trace::ExitKind::kReturn) {
    *result = share(s.result);
    state_.clear();
    return Next::kDone;
  }
  // The new state replaces the old one only now: values fetched by the guards are borrowed from it.
  State& next = scratch_.next;
  for (int32_t i : s.slots) next.slots.push_back(share(i));
  next.handled = share(s.handled);
  for (const ExitFrame& e : s.frames) {
    const size_t at = next.frames.size();
    resume::Frame& f = next.frames.emplace_back();
    f.code = e.entry.code;
    if (e.kept && at < state_.frames.size()) f.snapshot = std::move(state_.frames[at].snapshot);
    f.function = e.entry.function;
    f.globals = e.entry.globals;
    f.builtins = e.entry.builtins;
    f.locals = e.entry.locals;
    f.pc = e.entry.pc;
    f.stack = e.entry.stack;
    f.on_return = e.entry.on_return == trace::ReturnMode::kDiscard ? resume::OnReturn::kDiscard : resume::OnReturn::kPush;
    if (e.function_step >= 0) {
      f.owner = py::Ref::borrow(made.items[static_cast<size_t>(e.function_step)]);
      f.function = f.owner.get();
    }
  }
  std::swap(next.kept, state_.kept);
  made.clear();
  outputs.clear();
  std::swap(state_, next);
  context_.release();
  next.clear();  // what the user's code let go of dies before the next instruction runs
  previous_ = &s;
  if (s.break_index >= 0 && root_.resets == resets_) ++root_.breaks[static_cast<size_t>(s.break_index)].events;
  watch_.instruction_begins(s.break_index);
  size_t depth = state_.frames.size();
  Next n = step(&s, s.region, result);
  if (n == Next::kSite && s.plain_rest && state_.frames.size() >= depth) return run_plainly(depth, s.region, result);
  if (n == Next::kSite && s.stretch) return run_loop(s, result);
  return n;
}

Run::Next Run::after_raise(bool reraise, PyObject** result) {
  *result = nullptr;
  if (!resume::unwind(state_, reraise)) return Next::kError;
  site_ = root_.site_for(state_, lines_of(state_), previous_);
  return Next::kSite;
}

Run::Next Run::step(Segment* s, bool region, PyObject** result) {
  std::vector<int> lines;
  Outcome outcome;
  ++coverage().ops_executor;
  if (s && options().skipping_callee) skip_body(state_, !s->plain_rest && s->break_info.reason == "skip-frame");
  {
    RegionScope scope(region, region_);
    outcome = resume::execute(state_);
  }
  watch_.instruction_ended();
  switch (outcome) {
    case Outcome::kRaised:
    case Outcome::kReraised: return after_raise(outcome == Outcome::kReraised, result);
    case Outcome::kReturn: {
      PyObject* r = resume::deliver_return(state_);
      if (r) {
        *result = r;
        return Next::kDone;
      }
      if (PyErr_Occurred()) return after_raise(false, result);
      break;
    }
    case Outcome::kYield:
      PyErr_SetString(PyExc_SystemError, "a generator frame can't be run here");
      return Next::kError;
    default: break;
  }
  const std::vector<int32_t> unbacked = s && root_.fullgraph ? unbacked_after(*s, state_) : std::vector<int32_t>();
  uint64_t bound = bound_hash(state_);
  if (s && outcome != Outcome::kReturn)
    for (const Successor& next : s->successors)
      if (next.outcome == outcome && next.pc == state_.top().pc && next.bound == bound) {
        site_ = next.site;
        return Next::kSite;
      }
  site_ = root_.site_for(state_, lines_of(state_), s, unbacked);
  if (s && outcome != Outcome::kReturn && s->successors.size() < 16)
    s->successors.push_back({outcome, state_.top().pc, bound, site_});
  return Next::kSite;
}

Run::Next Run::run_to_exception(PyObject** result) {
  for (;;) {
    ++coverage().ops_executor;
    Outcome outcome;
    {
      RegionScope scope(ambient_, region_);
      outcome = resume::execute(state_);
    }
    if (outcome == Outcome::kRaised || outcome == Outcome::kReraised)
      return after_raise(outcome == Outcome::kReraised, result);
    if (outcome == Outcome::kReturn) {
      PyObject* r = resume::deliver_return(state_);
      if (r) {
        *result = r;
        return Next::kDone;
      }
      if (PyErr_Occurred()) return after_raise(false, result);
    }
  }
}

Run::Next Run::run_plainly(size_t depth, bool region, PyObject** result) {
  while (state_.frames.size() >= depth) {
    const bytecode::Instr& next = state_.top().code->instrs[static_cast<size_t>(state_.top().pc)];
    if (next.op == bytecode::Op::kCall && options().compiling_call) options().compiling_call(state_, next);
    Next n = step(nullptr, region, result);
    if (n != Next::kSite) return n;
  }
  return Next::kSite;
}

void Run::note_untraced(const std::string& reason, std::vector<std::pair<std::string, std::string>> arguments) {
  trace::BreakInfo info;
  info.reason = reason;
  info.arguments = std::move(arguments);
  for (const resume::Frame& f : state_.frames) {
    trace::PlaceFrame place;
    place.file = f.code->file;
    place.function = place.code_name = f.code->name;
    place.position = f.code->position(std::max(0, &f == &state_.top() ? f.pc : f.pc - 1));
    info.place.push_back(std::move(place));
  }
  const int index = root_.break_index(info);
  BreakRecord& record = root_.breaks[static_cast<size_t>(index)];
  // PyTorch follows such code: no policy calls it an error.
  record.policy.error = false;
  record.policy.source = "value-read";
  if (!record.events++) ++root_.stats.breaks;
}

template <class More>
Run::Next Run::run_untraced(More more, PyObject** result) {
  do {
    ++coverage().ops_executor;
    Outcome outcome;
    {
      RegionScope scope(ambient_, region_);
      outcome = resume::execute(state_);
    }
    if (outcome == Outcome::kRaised || outcome == Outcome::kReraised) return after_raise(outcome == Outcome::kReraised, result);
    if (outcome == Outcome::kReturn) {
      if (PyObject* r = resume::deliver_return(state_)) {
        *result = r;
        return Next::kDone;
      }
      if (PyErr_Occurred()) return after_raise(false, result);
    }
  } while (more());
  site_ = root_.site_for(state_, lines_of(state_), nullptr, {});
  return Next::kSite;
}

Run::Next Run::run_loop(Segment& s, PyObject** result) {
  size_t depth = state_.frames.size();
  while (state_.frames.size() == depth && state_.top().pc >= s.loop_start && state_.top().pc <= s.loop_end) {
    Next n = step(nullptr, s.region, result);
    if (n != Next::kSite) return n;
  }
  return Next::kSite;
}

/// Whether a tracer or profiler (sys.settrace, sys.setprofile) looks at this thread's calls: they have to be real ones then.
bool is_watched() {
  const PyThreadState* t = PyThreadState_Get();
  return t->c_tracefunc || t->c_profilefunc;
}

PyObject* Run::run_rest() {
  RegionScope scope(ambient_, region_);
  int64_t before = resume::executed_instructions();
  PyObject* result = resume::run_concretely(state_);
  coverage().ops_executor += resume::executed_instructions() - before;
  return result;
}

PyObject* Run::go() {
  site_ = root_.entry_site();
  if (options().executor_only) {
    ++coverage().roots_traced;  // run by the machine, without tracing
    return run_rest();
  }
  bool progress = false;
  for (;;) {
    Site& site = *site_;
    if (site.executor || is_watched() || !state_.kept_frames.empty()) return run_rest();
    constexpr int kMostMisses = 32;
    const bool lost = site.misses > kMostMisses;  // no variant fits any more
    Segment* s = lost ? nullptr : find(site);
    if (!s) {
      watch_.compiled();
      if (!site.segments.empty() && options().on_recompile != OnRecompile::kCompile) {
        if (options().on_recompile == OnRecompile::kRunPlainly) return run_rest();
        const bytecode::Code* code = site.frames.back().code;
        const std::string difference = missed_ ? missed_->guards.describe(missed_step_, site.frames.size() == 1 ? code->code->co_localsplusnames : nullptr) : "";
        PyErr_Format(PyExc_RuntimeError,
                     "Detected recompile when torch.compile stance is 'fail_on_recompile'. filename: '%s', function name: '%s', line "
                     "number: %d. The call differs by %s.",
                     code->file.c_str(), code->name.c_str(), code->first_line, difference.c_str());
        return nullptr;
      }
      const bool full =
          lost || (static_cast<int>(site.segments.size()) >= limit_of(site) && !leave_out_at_entry(root_, site, state_, context_));
      if (full && !may_step(site)) return give_up_tracing(site) ? run_rest() : nullptr;
      if (full) ++site.misses;
      if (std::string why; full || (torch::available() && !torch::current_ambient().traceable(&why))) {
        // Modes and transforms see every operation: nothing is traced while one is in force.
        if (!progress) ++coverage().roots_traced;
        progress = true;
        previous_ = nullptr;
        PyObject* result = nullptr;
        if (!full) {
          std::vector<std::pair<std::string, std::string>> arguments;
          if (std::string name = torch::innermost_mode(); !name.empty()) arguments = {{"class", name}};
          note_untraced(why, std::move(arguments));
        }
        const auto in_mode = [] { return !torch::current_ambient().traceable(nullptr); };
        switch (full ? step(nullptr, ambient_, &result) : run_untraced(in_mode, &result)) {
          case Next::kDone: return result;
          case Next::kError: return nullptr;
          case Next::kSite: continue;
        }
      }
      if (barren_ >= kMostBarren && !root_.compiled_strictly) {
        note_untraced("trace-limit", {{"limit", std::to_string(kMostBarren)}, {"unit", "segments without an operation in one call"}});
        previous_ = nullptr;
        PyObject* result = nullptr;
        int left = kBarrenInstructions;
        switch (run_untraced([&] { return --left > 0; }, &result)) {
          case Next::kDone: return result;
          case Next::kError: return nullptr;
          case Next::kSite: barren_ -= kBarrenRetries; continue;
        }
      }
      TraceTurn turn;
      if (turn.waited()) continue;  // the other thread may have made what was missing
      note_changes(root_, site, state_, context_);
      try {
        s = build_segment(root_, site, state_, ambient_);
        if (!s) return nullptr;
        barren_ = s->graph && !s->graph->nodes.empty() ? 0 : barren_ + 1;
      } catch (py::PythonError&) {
        if (PyErr_Occurred() && (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) || !options().keep_going)) return nullptr;
        std::string why = "internal";
        if (PyErr_Occurred()) {
          PyObject *t, *v, *tb;
          PyErr_Fetch(&t, &v, &tb);
          why = "internal: " + (v ? py::to_string(v) : std::string("error"));
          Py_XDECREF(t);
          Py_XDECREF(v);
          Py_XDECREF(tb);
        }
        const bytecode::Code* code = site.frames.back().code;
        root_.skip(code->qualname, code->file, code->first_line, why);
        site.executor = true;
        continue;
      } catch (std::exception& e) {
        PyErr_Clear();
        const bytecode::Code* code = site.frames.back().code;
        root_.skip(code->qualname, code->file, code->first_line, std::string("internal: ") + e.what());
        site.executor = true;
        continue;
      }
      const auto holds = [&] { return s->guards.check(context_) && fits(*s); };
      bool good;
      {
        guard::MarksPaused paused;
        good = holds();
      }
      if (good && guard::marks_in_use()) {
        if (!keep_marks(*s, context_)) {
          instance_ = nullptr;
          drop_segment(root_, site, s);  // the next call is told as well
          return nullptr;
        }
        good = holds();
      }
      if (!good) {
        const bytecode::Code* code = site.frames.back().code;
        root_.skip(code->qualname, code->file, code->first_line,
                   "internal: a new segment fails its own guard: " + s->guards.describe(context_.failed_step));
        site.executor = true;
        continue;
      }
    } else if (!policy_allows(root_, *s, ambient_)) {
      return nullptr;
    }
    if (!progress) ++coverage().roots_traced;
    progress = true;
    note_edge(*s);
    PyObject* result = nullptr;
    switch (run_segment(*s, &result)) {
      case Next::kDone: return result;
      case Next::kError: return nullptr;
      case Next::kSite: break;
    }
  }
}

}  // namespace

const char* reason_to_skip(const bytecode::Code* code) {
  if (code->is_coroutine || code->is_async_generator) return "async";
  if (code->is_generator) return "generator-root";
  if (!code->is_optimized) return "function-call";
  if (is_watched()) return "active-tracer";
  return nullptr;
}

PyObject* call_root(Root& root, PyObject* const* args, size_t nargsf, PyObject* names) {
  auto* function = reinterpret_cast<PyFunctionObject*>(root.function());
  const bytecode::Code* code = root.code();
  if (const char* reason = reason_to_skip(code)) {
    root.skip(code->qualname, code->file, code->first_line, reason);
    coverage().roots++;
    return PyObject_Vectorcall(root.function(), args, nargsf, names);
  }
  ScratchLease lease;
  State& state = (*lease).state;
  resume::Frame& frame = state.frames.emplace_back();
  frame.code = code;
  frame.function = root.function();
  frame.globals = function->func_globals;
  frame.builtins = function->func_builtins;
  state.slots.assign(static_cast<size_t>(code->slot_count), nullptr);
  state.kept.push_back(py::Ref::borrow(root.function()));
  if (!resume::bind_arguments(function, args, nargsf, names, state.slots.data())) {
    if (PyErr_Occurred()) return nullptr;
    return PyObject_Vectorcall(root.function(), args, nargsf, names);
  }
  state.handled = Py_XNewRef(resume::thread_handled());
  RunningScope running(root);
  resume::HandledScope handled;
  ++coverage().roots;
  if (Py_EnterRecursiveCall(" in a compiled function")) return nullptr;
  PyObject* r = Run(root, *lease).go();
  Py_LeaveRecursiveCall();
  return r;
}

}  // namespace breakline::segment
