// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/vulkan/resident.h"

#include "core/vulkan/device.h"

namespace breakline::vulkan {

ResidentTensor::~ResidentTensor() {
  if (owner) owner->device_.stats.resident_bytes -= buffer.bytes();
}

std::shared_ptr<ResidentTensor> Resident::get(const HostSource& source) {
  auto& slot = tensors_[{source.data, source.bytes}];
  if (auto found = slot.lock()) return found;
  auto made = std::make_shared<ResidentTensor>();
  made->buffer = device_.memory().allocate(source.bytes, MemoryKind::kDevice);
  made->owner = this;
  device_.stats.resident_bytes += made->buffer.bytes();
  slot = made;
  std::erase_if(tensors_, [](const auto& entry) { return entry.second.expired(); });
  return made;
}

std::shared_ptr<ResidentTensor> Resident::find(const HostSource& source) const {
  auto slot = tensors_.find({source.data, source.bytes});
  auto found = slot == tensors_.end() ? nullptr : slot->second.lock();
  return found && found->filled && found->version == source.version ? found : nullptr;
}

}  // namespace breakline::vulkan
