// SPDX-License-Identifier: GPL-3.0-or-later
// Torch-function modes that traced code enters: a stack of values. What a call makes of them is in
// subclass.cpp. A mode that is still on the stack where the trace ends is pushed for real instead, and its
// region runs as plain Python.
#include <string_view>

#include "core/torch/ambient.h"
#include "core/trace/tracer.h"

namespace breakline::trace {

Value* Tracer::function_mode_call(std::string_view name, const Values& args) {
  name = name.substr(name.rfind('.') + 1);
  const bool push = name == "_push_on_torch_function_stack", pop = name == "_pop_torch_function_stack";
  const bool count = name == "_len_torch_function_stack", at = name == "_get_function_stack_at";
  if (!push && !pop && !count && !at && name != "_is_torch_function_mode_enabled") return nullptr;
  // Modes that the call came with are not followed.
  if (entry_ambient_.function_modes || entry_ambient_.default_device_set) return nullptr;
  if (push) {
    Value* mode = args.size() == 1 ? force(args[0]) : nullptr;
    if (!mode || (mode->kind != Kind::kInstance && mode->kind != Kind::kLive)) return nullptr;
    PyObject* own = lookup(type_of(mode), py::intern("__torch_function__"));
    if (!own || !PyFunction_Check(own)) return nullptr;
    EnteredMode entered{mode, outer_instruction_, {}};
    entered.info.reason = "torch-function-mode";
    entered.info.arguments = {{"class", type_of(mode)->tp_name}};
    capture_place(entered.info);
    mutated();
    modes_.push_back(std::move(entered));
    return none();
  }
  if (count) return constant_new(PyLong_FromSize_t(modes_.size()));
  if (pop) {
    if (modes_.empty()) return nullptr;
    mutated();
    Value* mode = modes_.back().mode;
    modes_.pop_back();
    return mode;
  }
  if (at) {
    PyObject* index = args.size() == 1 ? constant_of(args[0]) : nullptr;
    const Py_ssize_t i = index && PyLong_Check(index) ? PyLong_AsSsize_t(index) : -1;
    return i >= 0 && static_cast<size_t>(i) < modes_.size() ? modes_[static_cast<size_t>(i)].mode : nullptr;
  }
  return boolean(!modes_.empty());
}

void Tracer::refuse_under_mode() {
  if (!modes_.empty()) stop("torch-function-mode", {{"class", type_of(modes_.back().mode)->tp_name}});
}

void Tracer::leave_modes() {
  if (modes_.empty()) return;
  forced_[modes_.front().entered_at] = std::move(modes_.front().info);
  throw Restart{};
}

}  // namespace breakline::trace
