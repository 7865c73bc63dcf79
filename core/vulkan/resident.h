// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <memory>
#include <utility>

#include "core/vulkan/fingerprint.h"
#include "core/vulkan/memory.h"

namespace breakline::vulkan {

/// Host memory of a tensor: its first element, the bytes up to its last one, and its version counter (-1:
/// none).
struct HostSource {
  const void* data = nullptr;
  int64_t bytes = 0;
  int64_t version = -1;
};

/// A tensor kept on the device between calls. Address, length and version say that it is *probably*
/// unchanged; its fingerprint, compared while the device already works, says that it is. So a write that no
/// version counter sees (through `.data`, numpy, a new tensor at the same address) is seen all the same.
struct ResidentTensor {
  Buffer buffer;
  int64_t version = -1;
  Fingerprint content{};
  bool filled = false;
  ~ResidentTensor();
  class Resident* owner = nullptr;
};

/// Residents by address, shared by all plans; one lives as long as a plan uses it. With the device's mutex
/// held.
class Resident {
 public:
  explicit Resident(Device& device) : device_(device) {}
  /// The one for `source`, made empty if there is none. Throws VulkanError when the device is full.
  std::shared_ptr<ResidentTensor> get(const HostSource& source);
  /// The one for `source` if there is one that is probably up to date, else null.
  std::shared_ptr<ResidentTensor> find(const HostSource& source) const;

 private:
  friend struct ResidentTensor;
  Device& device_;
  std::map<std::pair<const void*, int64_t>, std::weak_ptr<ResidentTensor>> tensors_;
};

}  // namespace breakline::vulkan
