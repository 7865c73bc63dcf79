// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace breakline::vulkan {

/// What hello tells about the Vulkan device. `reason` is one sentence when there is none, else "".
struct VulkanInfo {
  bool available = false;
  std::string name;  ///< "NVIDIA …", "llvmpipe (software)"
  std::string reason;
  bool software = false;
};

/// Opens the loader and the best device at the first call (40–350 ms) and keeps it; thread-safe, needs no
/// GIL.
VulkanInfo vulkan_info();

/// How the device is opened; takes effect at the next opening (first use, or first use after shutdown()).
struct VulkanOptions {
  bool validation =
      false;  ///< Khronos validation with synchronization checks; also by BREAKLINE_VULKAN_VALIDATION=1
  bool force_staging = false;  ///< copies through staging buffers even where memory is shared; also by
                               ///< BREAKLINE_VULKAN_STAGING=1
  bool force_barriers =
      false;  ///< kernel variants of real GPUs on a software device too; also by BREAKLINE_VULKAN_BARRIERS=1
  std::string device;  ///< part of the wanted device's name; also by BREAKLINE_VULKAN_DEVICE
};
void set_vulkan_options(const VulkanOptions& options);

/// Waits for the device and frees everything. Plans that still exist run as replay afterwards. For tests and
/// for a tidy exit; a process may also end without it.
void shutdown_vulkan();

/// Messages (errors and warnings) of the validation layer since the start; empty without validation.
std::vector<std::string> validation_messages();
/// True when the device in use was opened with the validation layer.
bool validation_active();

/// Timestamps around each kernel from now on (a few µs per kernel); plans report them in KernelTimes.
void set_kernel_timestamps(bool on);

/// What the device layer holds and has done, for tests and the window.
struct VulkanStats {
  int64_t device_bytes = 0;    ///< in memory blocks taken from the driver
  int64_t resident_bytes = 0;  ///< of weights kept on the device
  int64_t uploads = 0, upload_bytes = 0;
  int64_t resident_hits = 0;  ///< operands that were on the device already, unchanged
  int64_t stale_retries =
      0;  ///< batches run again since a resident operand had changed unseen by its version
  int64_t downloads = 0;
  int64_t submits = 0, dispatches = 0;
  int64_t pipelines = 0;  ///< distinct kernels compiled
};
VulkanStats vulkan_stats();

/// For tests: the next `count` submissions fail as if the device were lost.
void inject_device_loss(int count);

}  // namespace breakline::vulkan
