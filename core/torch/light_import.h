// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace breakline::torch {

/// While it lives, PyTorch's Python shape functions load neither torch._dynamo, which some ask for only to be kept out of its
/// traces, nor its symbolic shapes and sympy, which they ask about plain numbers (a second or more each at the first such call).
/// Whatever else is asked of those modules loads the real ones. Leaves nothing behind. Needs the GIL.
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
