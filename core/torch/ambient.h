// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>

#include "core/python/ref.h"

namespace breakline::torch {

/// All ambient PyTorch state that can change what an op does, as one comparable value.
struct Ambient {
  bool grad_mode = true;
  bool inference_mode = false;
  int16_t inference_depth = 0;  ///< regions that traced code has entered (inference_region.h)
  bool deterministic = false, deterministic_warn = false;
  bool autocast_cpu = false;
  int8_t autocast_cpu_dtype = 0;  ///< graph::DType number, of the next region when none is open
  int16_t autocast_depth = 0;     ///< open regions: the outermost forgets the cast weights when it is left
  bool autocast_cache = true;
  bool autocast_other = false;  ///< autocast on for another device type
  int8_t default_dtype = 6;
  bool default_device_set =
      false;                   ///< torch.set_default_device / `with device:` active (a torch-function mode)
  int16_t function_modes = 0;  ///< torch-function modes in force, but for the CPU as default device
  int16_t dispatch_modes = 0;
  int16_t functorch_levels = 0;
  bool torch_function_enabled = true;
  bool anomaly = false;
  bool flush_denormal = false;
  uint32_t backend_flags = 0;  ///< switches of torch.backends that code can read and kernels follow, a bit each
  bool operator==(const Ambient&) const = default;
  /// Whether autograd records what is computed: in inference mode it does not, whatever the grad mode says.
  bool records() const { return grad_mode && !inference_mode; }
  /// True when segments can be traced under it; otherwise `why` names the reason id for the break/skip.
  bool traceable(std::string* why) const;
};
/// Reads the present state (~100 ns target; a handful of C calls).
Ambient current_ambient();
/// Fast check at segment entry: same as current_ambient() == expected.
bool ambient_matches(const Ambient& expected);
/// Sets grad mode / autocast etc. of the process to `target` where it differs (used after a trace to
/// restore). GIL.
void restore_ambient(const Ambient& target);

}  // namespace breakline::torch
