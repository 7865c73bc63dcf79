// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/python/ref.h"

namespace breakline::trace {

/// While it lives, what numpy would warn of (overflow, division by zero, invalid values) is an error: a
/// warning has to come at each call and from the program's own line, so such a calculation is none to make
/// while tracing. Does nothing with `needed` false.
class NumpyErrors {
 public:
  explicit NumpyErrors(bool needed);
  ~NumpyErrors();  ///< keeps a pending error
  NumpyErrors(const NumpyErrors&) = delete;
  /// Whether numpy's ways are set; false when there is no numpy or none was asked for.
  bool set() const { return static_cast<bool>(before_); }

 private:
  py::Ref seterr_, before_;
};

}  // namespace breakline::trace
