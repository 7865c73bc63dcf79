// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace breakline::torch {

/// While it lives, PyTorch's Python shape functions do not load all of torch._dynamo, which some ask for only
/// to be kept out of its traces (a second or more at the first such call). Whatever else is asked of that
/// module loads the real one. Leaves nothing behind. Needs the GIL.
class LightImport {
 public:
  LightImport();
  ~LightImport();
  LightImport(const LightImport&) = delete;
  LightImport& operator=(const LightImport&) = delete;

 private:
  bool active_ = false;
};

}  // namespace breakline::torch
