// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/python/ref.h"

namespace breakline::trace {

/// While it lives, whatever this thread would warn of is an error: a warning has to come at each call and
/// from the program's own line, so a call that warns is none to make while tracing. The program's record of
/// what was warned of before is left alone, which `warnings.catch_warnings` does not do. With the GIL.
class WarningsRaised {
 public:
  WarningsRaised();
  ~WarningsRaised();  ///< keeps a pending error
  WarningsRaised(const WarningsRaised&) = delete;

 private:
  py::Ref filters_;
};

/// Whether the pending error is a warning that was raised; it is cleared then.
bool take_warning();

}  // namespace breakline::trace
