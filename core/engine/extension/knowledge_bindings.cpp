// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/extension/knowledge_bindings.h"

#include <exception>
#include <string>

#include "core/diagnose/knowledge.h"

namespace breakline::engine {
namespace {

PyObject* diagnose_json(PyObject*, PyObject* args) {
  const char* text = nullptr;
  const char* reason = nullptr;
  Py_ssize_t length = 0;
  if (!PyArg_ParseTuple(args, "s#|z", &text, &length, &reason)) return nullptr;
  try {
    const auto matches = diagnose::KnowledgeBase::builtin().diagnose({text, static_cast<std::size_t>(length)},
                                                                     reason ? reason : "");
    const std::string json = diagnose::matches_to_json(matches);
    return PyUnicode_DecodeUTF8(json.data(), static_cast<Py_ssize_t>(json.size()), "replace");
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    return nullptr;
  }
}

PyMethodDef kMethods[] = {
    {"diagnose_json", diagnose_json, METH_VARARGS, "diagnose_json(text, reason=None) -> JSON text"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_knowledge_functions(PyObject* module) { return PyModule_AddFunctions(module, kMethods); }

}  // namespace breakline::engine
