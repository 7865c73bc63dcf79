// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/cpu_plan.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <limits>

#include "core/cpu/frozen.h"
#include "core/cpu/kernel_plan.h"
#include "core/cpu/parallel.h"
#include "core/cpu/passes/table.h"
#include "core/graph/op_table.h"
#include "core/graph/passes/pure.h"
#include "core/graph/profile.h"
#include "core/graph/walk.h"
#include "core/torch/ambient.h"
#include "core/torch/node_runner.h"
#include "core/torch/pass_tools.h"

namespace breakline::cpu {
namespace {

using graph::Graph;
using graph::ObjectHandle;

constexpr std::pair<std::string_view, LibraryUse> kUses[] = {
    {"never", LibraryUse::kNever}, {"measured", LibraryUse::kMeasured}, {"always", LibraryUse::kAlways}};

/// Time for comparing runs. What others take from a lone thread does not count.
double clock_us() {
  timespec now{};
  clock_gettime(kernel_threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

LibraryUse& library_use() {
  static LibraryUse use = [] {
    const char* wanted = std::getenv("BREAKLINE_LIBRARY");
    return find_library_use(wanted ? wanted : "").value_or(LibraryUse::kMeasured);
  }();
  return use;
}

/// A graph after passes, ready to run.
class Form {
 public:
  /// Null with a reason in `log.fault` when it can't be made.
  static std::unique_ptr<Form> make(const Graph& graph, std::span<const graph::Pass> passes,
                                    graph::PassLog& log) {
    graph::Rewrite rewrite(graph);
    if (!graph::run_passes(passes, rewrite, torch::pass_tools(), log)) return nullptr;
    graph::Split parts = graph::split(rewrite);
    if (log.fault = graph::verify(*parts.main); !log.fault.empty()) return nullptr;
    auto form = std::make_unique<Form>(parts);
    form->plan_ = make_kernel_plan(parts.main, std::move(parts.origin), &log.fault);
    return form->plan_ ? std::move(form) : nullptr;
  }
  explicit Form(const graph::Split& parts)
      : frozen_(parts),
        given_(parts.main->inputs.size() - parts.kept.size()),
        total_(parts.main->inputs.size()) {}

  /// Whether it can run now; else why not, for good.
  bool ready(ObjectHandle const* inputs, std::string* why) {
    switch (frozen_.refresh(inputs)) {
      case FrozenValues::State::kReady:
        return true;
      case FrozenValues::State::kFailed:
        *why = "weights could not be prepared";
        break;
      case FrozenValues::State::kUnstable:
        *why = "weights change from call to call";
        break;
    }
    frozen_.clear();
    return false;
  }
  /// After ready() with these inputs.
  int run(ObjectHandle const* inputs, ObjectHandle* outputs) {
    if (given_ == total_) return plan_->run(inputs, outputs);
    constexpr size_t kInline = 256;
    std::array<ObjectHandle, kInline> room;
    std::vector<ObjectHandle> heap;
    ObjectHandle* all = room.data();
    if (total_ > kInline) {
      heap.resize(total_);
      all = heap.data();
    }
    std::copy(inputs, inputs + given_, all);
    std::copy(frozen_.values().begin(), frozen_.values().end(), all + given_);
    return plan_->run(all, outputs);
  }
  const graph::PlanInfo& info() const { return plan_->info(); }
  std::string dump(std::string_view stage) const { return plan_->dump(stage); }
  void rest() { plan_->rest(); }
  void release() {
    frozen_.clear();
    rest();
  }

 private:
  FrozenValues frozen_;
  size_t given_, total_;
  std::unique_ptr<graph::Plan> plan_;
};

/// Whether library passes change anything is known only after they ran; this is the cheap question before.
bool has_library_work(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const graph::Node& node) {
    static constexpr graph::OpKind kKinds[] = {graph::OpKind::kConv, graph::OpKind::kMatmul,
                                               graph::OpKind::kNorm};
    return node.op && std::find(std::begin(kKinds), std::end(kKinds), node.op->kind) != std::end(kKinds);
  });
}

/// Whether running the graph twice leaves more behind than running it once: it writes an input, draws numbers
/// or changes ambient state. Writes to its own intermediates (activations in place) are none.
bool has_effects(const Graph& graph) {
  const auto of_input = [&](const graph::Arg& arg) {
    bool found = false;
    graph::walk_values(arg, [&](graph::ValueId id) {
      const int32_t storage = graph.values[static_cast<size_t>(id)].storage;
      found |=
          storage < 0 || std::any_of(graph.inputs.begin(), graph.inputs.end(), [&](graph::ValueId input) {
            return graph.values[static_cast<size_t>(input)].storage == storage;
          });
    });
    return found;
  };
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const graph::Node& node) {
    if (graph::drops_nothing(node)) return false;
    if (node.random || node.ambient) return true;
    if (!node.mutates) return false;
    // An in-place operation gives its first operand back and writes nothing else.
    const bool in_place = node.outputs.size() == 1 && !node.args.empty() && node.args[0].is_value() &&
                          node.args[0].id() == node.outputs[0];
    if (in_place) return of_input(node.args[0]);
    return std::any_of(node.args.begin(), node.args.end(), of_input) ||
           std::any_of(node.kwargs.begin(), node.kwargs.end(),
                       [&](const auto& kwarg) { return of_input(kwarg.second); });
  });
}

/// Nodes before and after each pass, and the graph where it is kept.
std::string passes_text(const FormInfo& form) {
  std::string text = "form " + form.name + (form.log.fault.empty() ? "" : ": " + form.log.fault) + "\n";
  for (const graph::PassRecord& p : form.log.passes) {
    text += p.name + " " + std::to_string(p.before) + " -> " + std::to_string(p.after) + "\n" + p.graph;
  }
  return text;
}

class CpuPlan final : public graph::Plan {
 public:
  explicit CpuPlan(std::shared_ptr<const Graph> graph) : graph_(std::move(graph)) {
    infos_[kPlain].name = "plain";
    infos_[kLibrary].name = "library";
  }

  bool build(std::string* why) {
    graph::PassLog& log = infos_[kPlain].log;
    forms_[kPlain] = Form::make(*graph_, plain_passes(), log);
    if (!forms_[kPlain] && !make_bare(why)) return false;
    settled_ = library_use() == LibraryUse::kNever || !has_library_work(*graph_);
    return true;
  }

  int run(ObjectHandle const* inputs, ObjectHandle* outputs) override {
    if (settled_ && used_ == kPlain) return run_plain(inputs, outputs);
    if (!settled_) return run_unsettled(inputs, outputs);
    return run_library(inputs, outputs);
  }

  const graph::PlanInfo& info() const override {
    return used_ == kLibrary ? forms_[kLibrary]->info() : plain_info();
  }

  /// The stages of the form in use; "passes": what each of its passes has done.
  std::string dump(std::string_view stage) const override {
    if (stage == "passes") return passes_text(infos_[used_]);
    if (used_ == kLibrary) return forms_[kLibrary]->dump(stage);
    return forms_[kPlain] ? forms_[kPlain]->dump(stage) : bare_->dump(stage);
  }

  std::vector<FormInfo> forms() const {
    std::vector<FormInfo> all;
    for (const int which : {kPlain, kLibrary}) {
      if (which == kLibrary && !forms_[which] && infos_[which].fault.empty()) continue;
      all.push_back(infos_[which]);
      all.back().chosen = used_ == which;
    }
    return all;
  }

 private:
  enum Which : uint8_t { kPlain, kLibrary };
  static constexpr int kRounds = 4;  ///< runs of each form that are compared
  /// The library form is left only for one that is clearly faster: what is measured in a few runs is not
  /// exact.
  static constexpr double kClearly = 0.97;

  /// The graph as it is, without passes.
  bool make_bare(std::string* why) {
    if (bare_) return true;
    bare_ = make_kernel_plan(graph_, {}, why);
    return bare_ != nullptr;
  }
  const graph::PlanInfo& plain_info() const {
    return forms_[kPlain] ? forms_[kPlain]->info() : bare_->info();
  }

  int run_plain(ObjectHandle const* inputs, ObjectHandle* outputs) {
    if (forms_[kPlain]) {
      if (forms_[kPlain]->ready(inputs, &infos_[kPlain].fault)) return forms_[kPlain]->run(inputs, outputs);
      std::string why;
      if (!make_bare(&why)) bare_ = torch::make_replay_plan(graph_, why);
      dropped_ = std::move(forms_[kPlain]);
    }
    return bare_->run(inputs, outputs);
  }

  /// Nobody runs the plain form any more; it stays for the day when the library's fails.
  void rest_plain() {
    if (forms_[kPlain]) forms_[kPlain]->rest();
    if (bare_) bare_->rest();
  }

  /// The library form is not to be used any more. It may be running in another thread, so it stays.
  void give_up_library(std::string why) {
    infos_[kLibrary].fault = std::move(why);
    used_ = kPlain;
    settled_ = true;
  }

  int run_library(ObjectHandle const* inputs, ObjectHandle* outputs) {
    std::string why;
    if (!forms_[kLibrary]->ready(inputs, &why)) {
      give_up_library(why);
      return run_plain(inputs, outputs);
    }
    const int failed = forms_[kLibrary]->run(inputs, outputs);
    if (failed >= 0)
      give_up_library("a call failed");  // the plain form decides whether that is the program's error
    return failed;
  }

  /// The first run takes the plain form; the second makes the other one; then they take turns.
  int run_unsettled(ObjectHandle const* inputs, ObjectHandle* outputs) {
    if (!forms_[kLibrary]) {
      const bool first =
          runs_++ == 0 || graph::kernel_times;  // a profiled run is told in the form that info() tells of
      if (first && library_use() == LibraryUse::kMeasured) return run_plain(inputs, outputs);
      make_library();
      if (settled_) return run_plain(inputs, outputs);
    }
    if (library_use() == LibraryUse::kAlways) {
      used_ = kLibrary;
      settled_ = true;
      return run_library(inputs, outputs);
    }
    if (graph::kernel_times) return run_library(inputs, outputs);  // the form that info() tells of
    return run_turn(inputs, outputs);
  }

  void make_library() {
    graph::PassLog& log = infos_[kLibrary].log;
    auto form = Form::make(*graph_, library_passes(), log);
    if (!form) return give_up_library(log.fault);
    const bool changed =
        std::any_of(log.passes.begin(), log.passes.end(),
                    [](const graph::PassRecord& record) { return record.library_calls > 0; });
    if (!changed) return give_up_library("nothing for the libraries");
    forms_[kLibrary] = std::move(form);
    used_ = kLibrary;
  }

  int run_turn(ObjectHandle const* inputs, ObjectHandle* outputs) {
    const Which which = turns_ % 2 == 0 ? kLibrary : kPlain;
    std::string why;
    const double start = clock_us();
    if (which == kLibrary && !forms_[kLibrary]->ready(inputs, &why)) {
      give_up_library(why);
      return run_plain(inputs, outputs);
    }
    const int failed =
        which == kLibrary ? forms_[kLibrary]->run(inputs, outputs) : run_plain(inputs, outputs);
    const double us = clock_us() - start;
    if (failed >= 0) {
      if (which == kLibrary) give_up_library("a call failed");
      return failed;
    }
    if (which == kLibrary && turns_ == 0 && !agrees_with_plain(inputs, outputs)) return -1;
    // The first turn of each warms up its memory.
    if (turns_ >= 2) {
      double& best = infos_[which].best_us;
      best = best > 0 ? std::min(best, us) : us;
    }
    if (++turns_ == 2 * (kRounds + 1) && !settled_) {
      settled_ = true;
      if (infos_[kPlain].best_us < kClearly * infos_[kLibrary].best_us) {
        give_up_library("slower here");
        forms_[kLibrary]->release();
      } else {
        rest_plain();
      }
    }
    return failed;
  }

  /// Other algorithms add up in another order. Where that shows beyond torch.testing.assert_close's defaults
  /// on the program's own data, the library form is given up and `outputs` become the plain form's. Graphs
  /// with effects can't be run twice and are not asked.
  bool agrees_with_plain(ObjectHandle const* inputs, ObjectHandle* outputs) {
    static auto* const agree =
        static_cast<PyObject*>(torch::pass_tools().resolve("breakline._choices.agree"));
    if (!agree || has_effects(*graph_)) return true;
    const size_t count = graph_->outputs.size();
    std::vector<ObjectHandle> plain(count, nullptr);
    if (run_plain(inputs, plain.data()) >= 0) {
      PyErr_Clear();
      return true;
    }
    const auto list_of = [&](ObjectHandle const* objects) {
      py::Ref list = py::Ref::steal(PyList_New(0));
      for (size_t i = 0; list && i < count; ++i) {
        if (objects[i]) PyList_Append(list.get(), static_cast<PyObject*>(objects[i]));
      }
      return list;
    };
    const py::Ref ours = list_of(outputs), theirs = list_of(plain.data());
    const py::Ref answer =
        py::Ref::steal(PyObject_CallFunctionObjArgs(agree, ours.get(), theirs.get(), nullptr));
    const bool differs = answer && answer.get() == Py_False;
    PyErr_Clear();
    for (size_t i = 0; i < count; ++i) {
      if (differs) std::swap(outputs[i], plain[i]);
      Py_XDECREF(static_cast<PyObject*>(plain[i]));
    }
    if (differs) {
      give_up_library("its results differ by more than torch.testing.assert_close allows");
      forms_[kLibrary]->release();
    }
    return !differs;
  }

  std::shared_ptr<const Graph> graph_;
  std::array<std::unique_ptr<Form>, 2> forms_;
  std::array<FormInfo, 2> infos_;
  std::unique_ptr<graph::Plan> bare_;
  std::unique_ptr<Form> dropped_;  ///< may be running in another thread
  Which used_ = kPlain;
  bool settled_ = true;
  int64_t runs_ = 0, turns_ = 0;
};

/// Why the graph must be replayed, "" if it need not.
std::string why_replay(const Graph& graph) {
  if (graph.needs_grad) return "parameters need grad";
  if (torch::current_ambient().default_dtype != static_cast<int8_t>(graph::DType::kFloat32)) {
    return "the default dtype is not float32";
  }
  return "";
}

}  // namespace

std::optional<LibraryUse> find_library_use(std::string_view name) {
  for (const auto& [known, use] : kUses)
    if (known == name) return use;
  return std::nullopt;
}

void set_library_use(LibraryUse use) { library_use() = use; }

std::vector<FormInfo> forms_of(const graph::Plan& plan) {
  const auto* made = dynamic_cast<const CpuPlan*>(&plan);
  return made ? made->forms() : std::vector<FormInfo>{};
}

std::unique_ptr<graph::Plan> make_cpu_plan(std::shared_ptr<const graph::Graph> graph,
                                           const std::string& reason) {
  std::string why = reason.empty() ? why_replay(*graph) : reason;
  if (why.empty()) {
    auto plan = std::make_unique<CpuPlan>(graph);
    if (plan->build(&why)) return plan;
  }
  return torch::make_replay_plan(std::move(graph), why);
}

}  // namespace breakline::cpu
