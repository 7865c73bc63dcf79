// SPDX-License-Identifier: GPL-3.0-or-later
// A break under an error policy becomes an exception with the text PyTorch gives.
#include <vector>

#include "core/diagnose/reasons.h"
#include "core/engine/extension/compiled_function.h"
#include "core/segment/constraints.h"
#include "core/segment/machine.h"

namespace breakline::engine {
namespace {

py::Ref& factory() {
  static auto* f = new py::Ref;
  return *f;
}

/// The user's stack as traceback.format_list prints it.
std::string user_stack(PyObject* frames) {
  py::Ref traceback = py::Ref::steal(PyImport_ImportModule("traceback"));
  py::Ref cls = traceback ? py::Ref::steal(PyObject_GetAttrString(traceback.get(), "FrameSummary")) : py::Ref();
  py::Ref list = py::Ref::steal(PyList_New(0));
  if (!cls || !list) {
    PyErr_Clear();
    return "";
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(frames); ++i) {
    PyObject* f = PyList_GET_ITEM(frames, i);
    py::Ref args = py::Ref::steal(PyTuple_GetSlice(f, 0, 3));
    py::Ref words = py::Ref::steal(PyDict_New());
    PyObject *column = PyTuple_GET_ITEM(f, 3), *end_column = PyTuple_GET_ITEM(f, 5);
    // PyTorch 2.13 gives no end line, so carets run to the end of the line; its text is what users compare with.
    if (PyLong_AsLong(column) >= 0 && PyLong_AsLong(end_column) >= 0) {
      PyDict_SetItemString(words.get(), "colno", column);
      PyDict_SetItemString(words.get(), "end_colno", end_column);
    }
    py::Ref summary = py::Ref::steal(PyObject_Call(cls.get(), args.get(), words.get()));
    if (!summary || PyList_Append(list.get(), summary.get()) < 0) PyErr_Clear();
  }
  py::Ref lines = py::Ref::steal(PyObject_CallMethod(traceback.get(), "format_list", "O", list.get()));
  py::Ref joined = lines ? py::Ref::steal(PyUnicode_Join(py::intern(""), lines.get())) : py::Ref();
  if (!joined) {
    PyErr_Clear();
    return "";
  }
  return std::string(py::utf8(joined.get()));
}

void raise_break(segment::Root& root, const trace::BreakInfo& info, const policy::Resolution& resolution, const std::string& break_id) {
  const diagnose::Reason* reason = diagnose::find_reason(info.reason);
  std::vector<diagnose::Argument> arguments;
  for (const auto& [k, v] : info.arguments) arguments.emplace_back(k, v);
  diagnose::Rendered text;
  if (reason) text = diagnose::render(*reason, arguments);
  else text.type = info.reason;
  py::Ref frames = py::Ref::steal(PyList_New(0));
  if (!frames) return;
  for (const trace::PlaceFrame& f : info.place) {
    if (f.call) continue;
    py::Ref e = py::Ref::steal(Py_BuildValue("(sisiii)", f.file.c_str(), f.position.line, f.function.c_str(), f.position.column,
                                             f.position.end_line, f.position.end_column));
    if (!e || PyList_Append(frames.get(), e.get()) < 0) return;
  }
  std::string stack = user_stack(frames.get());
  diagnose::MessageParts parts;
  parts.user_stack = stack;
  std::string message = diagnose::format_unsupported_message(text, parts);
  py::Ref body = py::Ref::steal(PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace"));
  py::Ref details = py::Ref::steal(Py_BuildValue("{ss,ss,ss,ss,sO}", "gb_type", text.type.c_str(), "reason", info.reason.c_str(),
                                                 "break_id", break_id.c_str(), "policy", resolution.source.c_str(), "frames", frames.get()));
  if (!body || !details) return;
  py::Ref error;
  if (factory()) error = py::Ref::steal(PyObject_CallFunction(factory().get(), "sOO", "unsupported", body.get(), details.get()));
  if (error && root.fullgraph && info.reason == "recompile-limit") {
    py::Ref none = py::Ref::steal(PyDict_New());
    py::Ref outer = none ? py::Ref::steal(PyObject_CallFunction(factory().get(), "ssO", "recompile_limit", "Hard failure due to fullgraph=True", none.get()))
                         : py::Ref();
    if (outer && PyExceptionInstance_Check(outer.get())) {
      PyException_SetCause(outer.get(), Py_NewRef(error.get()));
      error = std::move(outer);
    }
  }
  if (error && PyExceptionInstance_Check(error.get())) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
    return;
  }
  if (!PyErr_Occurred()) PyErr_SetObject(PyExc_RuntimeError, body.get());
}

void raise_constraint(const std::string& message, const std::vector<graph::OriginFrame>& frames, bool out_of_range) {
  py::Ref list = py::Ref::steal(PyList_New(0));
  for (const graph::OriginFrame& f : frames) {
    py::Ref e = list ? py::Ref::steal(Py_BuildValue("(sisiii)", f.file.c_str(), f.line, f.function.c_str(), f.column, f.end_line, f.end_column))
                     : py::Ref();
    if (!e || PyList_Append(list.get(), e.get()) < 0) return;
  }
  std::string text = message;
  if (!frames.empty()) text += (out_of_range ? "\n\nfrom user code:\n" : "\n\nUser stack:\n") + user_stack(list.get());
  py::Ref body = py::Ref::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
  py::Ref details = py::Ref::steal(Py_BuildValue("{sO}", "frames", list.get()));
  if (!body || !details) return;
  py::Ref error = factory() ? py::Ref::steal(PyObject_CallFunction(factory().get(), "sOO", "constraint", body.get(), details.get())) : py::Ref();
  if (error && PyExceptionInstance_Check(error.get())) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  else if (!PyErr_Occurred()) PyErr_SetObject(PyExc_RuntimeError, body.get());
}

}  // namespace

void install_error_raiser() {
  segment::set_error_raiser(raise_break);
  segment::set_constraint_raiser(raise_constraint);
}
void set_error_factory(PyObject* callable) { factory() = py::Ref::borrow(callable); }

}  // namespace breakline::engine
