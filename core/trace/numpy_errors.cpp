// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/trace/numpy_errors.h"

namespace breakline::trace {

NumpyErrors::NumpyErrors(bool needed) {
  if (!needed) return;
  py::Ref numpy = py::Ref::steal(PyImport_GetModule(py::intern("numpy")));
  seterr_ = numpy ? py::Ref::steal(PyObject_GetAttrString(numpy.get(), "seterr")) : py::Ref();
  py::Ref none_given = py::Ref::steal(PyTuple_New(0)),
          raising = py::Ref::steal(Py_BuildValue("{s:s}", "all", "raise"));
  if (seterr_ && none_given && raising)
    before_ = py::Ref::steal(PyObject_Call(seterr_.get(), none_given.get(), raising.get()));
  PyErr_Clear();
}

NumpyErrors::~NumpyErrors() {
  if (!before_) return;
  py::SavedError pending;
  py::Ref none_given = py::Ref::steal(PyTuple_New(0));
  py::Ref restored =
      none_given ? py::Ref::steal(PyObject_Call(seterr_.get(), none_given.get(), before_.get())) : py::Ref();
  PyErr_Clear();
}

}  // namespace breakline::trace
