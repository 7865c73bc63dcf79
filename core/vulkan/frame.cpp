// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/vulkan/frame.h"

#include <algorithm>
#include <cstring>

#include "core/vulkan/pipelines.h"

namespace breakline::vulkan {
namespace {

constexpr VkPipelineStageFlags kCompute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
constexpr VkPipelineStageFlags kTransfer = VK_PIPELINE_STAGE_TRANSFER_BIT;

int64_t bound_bytes(int64_t bytes) { return (std::max<int64_t>(bytes, 1) + 15) / 16 * 16; }

bool overlaps(VkBuffer a, int64_t a_offset, int64_t a_bytes, VkBuffer b, int64_t b_offset, int64_t b_bytes) {
  return a == b && a_offset < b_offset + b_bytes && b_offset < a_offset + a_bytes;
}

}  // namespace

Program::Frame::Frame(Device& device, const ProgramDesc& desc,
                      const std::vector<std::vector<const Pipeline*>>& pipelines,
                      const std::vector<int64_t>& slab_offset, int64_t slab_bytes)
    : device_(device), desc_(desc), pipelines_(pipelines), slab_offset_(slab_offset) {
  const Api& api = device_.api();
  inputs_.resize(desc.roots.size());
  recorded_.resize(desc.batches.size());
  if (slab_bytes > 0) slab_ = device_.memory().allocate(slab_bytes, MemoryKind::kDevice);
  uint32_t sets = 0, descriptors = 0;
  for (const Batch& batch : desc.batches) {
    for (const Dispatch& dispatch : batch.dispatches) {
      sets++;
      descriptors += static_cast<uint32_t>(dispatch.operands.size());
    }
  }
  VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  check(api.CreateFence(device_.handle(), &fence, nullptr, &fence_), "make a fence");
  if (sets == 0) return;
  VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, std::max(descriptors, 1u)};
  VkDescriptorPoolCreateInfo pool{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  pool.maxSets = sets;
  pool.poolSizeCount = 1;
  pool.pPoolSizes = &size;
  check(api.CreateDescriptorPool(device_.handle(), &pool, nullptr, &pool_), "make a descriptor pool");
  uint32_t query = 0;
  for (size_t b = 0; b < desc.batches.size(); b++) {
    size_t count = desc.batches[b].dispatches.size();
    recorded_[b].first_query = query;
    query += static_cast<uint32_t>(2 * count);
    for (size_t i = 0; i < count; i++) {
      VkDescriptorSetAllocateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
      info.descriptorPool = pool_;
      info.descriptorSetCount = 1;
      info.pSetLayouts = &pipelines[b][i]->set_layout;
      VkDescriptorSet set = VK_NULL_HANDLE;
      check(api.AllocateDescriptorSets(device_.handle(), &info, &set), "make a descriptor set");
      recorded_[b].sets.push_back(set);
    }
  }
  if (device_.traits().timestamp_ns > 0) {
    VkQueryPoolCreateInfo info{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = query;
    check(api.CreateQueryPool(device_.handle(), &info, nullptr, &queries_), "make a query pool");
  }
}

Program::Frame::~Frame() {
  const Api& api = device_.api();
  if (!all_commands_.empty()) {
    api.FreeCommandBuffers(device_.handle(), device_.command_pool(),
                           static_cast<uint32_t>(all_commands_.size()), all_commands_.data());
  }
  if (queries_) api.DestroyQueryPool(device_.handle(), queries_, nullptr);
  if (fence_) api.DestroyFence(device_.handle(), fence_, nullptr);
  if (pool_) api.DestroyDescriptorPool(device_.handle(), pool_, nullptr);
}

Program::Frame::Place Program::Frame::place(int root) const {
  auto r = static_cast<size_t>(root);
  int64_t bytes = bound_bytes(desc_.roots[r].bytes);
  const Buffer* buffer = &slab_;
  int64_t offset = 0;
  if (desc_.roots[r].from_host) {
    buffer = inputs_[r].resident ? &inputs_[r].resident->buffer : &inputs_[r].own;
  } else {
    offset = slab_offset_[r];
  }
  return {buffer->handle(), buffer->offset() + offset, bytes,
          buffer->mapped() ? buffer->mapped() + offset : nullptr};
}

std::vector<Program::Frame::Place> Program::Frame::places_of(const Batch& batch) const {
  std::vector<Place> out;
  for (const Dispatch& dispatch : batch.dispatches) {
    for (const Operand& operand : dispatch.operands) out.push_back(place(operand.root));
  }
  for (int root : batch.downloads) out.push_back(place(root));
  return out;
}

VkCommandBuffer Program::Frame::new_commands() {
  VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  info.commandPool = device_.command_pool();
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  check(device_.api().AllocateCommandBuffers(device_.handle(), &info, &commands), "make a command buffer");
  all_commands_.push_back(commands);
  return commands;
}

void Program::Frame::begin(VkCommandBuffer commands) {
  VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  check(device_.api().BeginCommandBuffer(commands, &info), "record commands");
}

void Program::Frame::barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags from_access,
                             VkPipelineStageFlags to, VkAccessFlags to_access) {
  VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  memory.srcAccessMask = from_access;
  memory.dstAccessMask = to_access;
  device_.api().CmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

void Program::Frame::write_descriptors(const Batch& batch, const Recorded& recorded) {
  for (size_t i = 0; i < batch.dispatches.size(); i++) {
    const auto& operands = batch.dispatches[i].operands;
    std::vector<VkDescriptorBufferInfo> infos;
    for (const Operand& operand : operands) {
      Place p = place(operand.root);
      infos.push_back({p.buffer, static_cast<VkDeviceSize>(p.offset), static_cast<VkDeviceSize>(p.bytes)});
    }
    VkWriteDescriptorSet write{VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    write.dstSet = recorded.sets[i];
    write.descriptorCount = static_cast<uint32_t>(infos.size());  // runs on over the following bindings
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = infos.data();
    device_.api().UpdateDescriptorSets(device_.handle(), 1, &write, 0, nullptr);
  }
}

void Program::Frame::record(int index, bool timed) {
  const Api& api = device_.api();
  auto b = static_cast<size_t>(index);
  const Batch& batch = desc_.batches[b];
  Recorded& recorded = recorded_[b];
  recorded.places.clear();  // stays empty when recording fails half-way
  write_descriptors(batch, recorded);
  size_t buffers = desc_.submit_each ? std::max<size_t>(batch.dispatches.size(), 1) : 1;
  while (recorded.commands.size() < buffers) recorded.commands.push_back(new_commands());

  struct Touched {
    Place place;
    bool write;
  };
  std::vector<Touched> touched;  // since the last barrier
  VkCommandBuffer commands = recorded.commands[0];
  begin(commands);
  if (timed && !batch.dispatches.empty()) {
    api.CmdResetQueryPool(commands, queries_, recorded.first_query,
                          static_cast<uint32_t>(2 * batch.dispatches.size()));
  }
  for (size_t i = 0; i < batch.dispatches.size(); i++) {
    const Dispatch& dispatch = batch.dispatches[i];
    const Pipeline& pipeline = *pipelines_[b][i];
    if (i > 0 && desc_.submit_each) {
      check(api.EndCommandBuffer(commands), "record commands");
      commands = recorded.commands[i];
      begin(commands);
    }
    bool conflict = false;
    std::vector<uint32_t> offsets;
    std::vector<Touched> now;
    for (const Operand& operand : dispatch.operands) {
      Place p = place(operand.root);
      for (const Touched& t : touched) {
        conflict |= (t.write || operand.write) &&
                    overlaps(t.place.buffer, t.place.offset, t.place.bytes, p.buffer, p.offset, p.bytes);
      }
      now.push_back({p, operand.write});
      offsets.push_back(static_cast<uint32_t>(operand.offset));
    }
    if (conflict) {
      barrier(commands, kCompute, VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT, kCompute,
              VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
      touched.clear();
    }
    touched.insert(touched.end(), now.begin(), now.end());
    api.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
    api.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1,
                              &recorded.sets[i], 0, nullptr);
    api.CmdPushConstants(commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                         static_cast<uint32_t>(offsets.size()) * 4, offsets.data());
    uint32_t query = recorded.first_query + static_cast<uint32_t>(2 * i);
    if (timed) api.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_, query);
    api.CmdDispatch(commands, dispatch.groups_x, dispatch.groups_y, 1);
    if (timed) api.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_, query + 1);
  }
  record_downloads(commands, batch, recorded);
  check(api.EndCommandBuffer(commands), "record commands");
  recorded.timed = timed;
  recorded.places = places_of(batch);
}

void Program::Frame::record_downloads(VkCommandBuffer commands, const Batch& batch, Recorded& recorded) {
  if (batch.downloads.empty()) return;
  if (device_.memory().unified()) {
    barrier(commands, kCompute, VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT,
            VK_ACCESS_HOST_READ_BIT);
    return;
  }
  barrier(commands, kCompute, VK_ACCESS_SHADER_WRITE_BIT, kTransfer, VK_ACCESS_TRANSFER_READ_BIT);
  recorded.read_back.resize(batch.downloads.size());
  for (size_t i = 0; i < batch.downloads.size(); i++) {
    Place from = place(batch.downloads[i]);
    Buffer& to = recorded.read_back[i];
    if (!to) to = device_.memory().allocate(from.bytes, MemoryKind::kStaging);
    VkBufferCopy copy{static_cast<VkDeviceSize>(from.offset), static_cast<VkDeviceSize>(to.offset()),
                      static_cast<VkDeviceSize>(from.bytes)};
    device_.api().CmdCopyBuffer(commands, from.buffer, to.handle(), 1, &copy);
  }
  barrier(commands, kTransfer, VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT,
          VK_ACCESS_HOST_READ_BIT);
}

void Program::Frame::place_inputs(const Batch& batch, std::span<const HostSource> sources,
                                  std::vector<Copy>& copies, std::vector<Check>& checks) {
  for (size_t i = 0; i < batch.uploads.size(); i++) {
    auto r = static_cast<size_t>(batch.uploads[i]);
    const HostSource& source = sources[i];
    Input& in = inputs_[r];
    bool same_place = in.seen && in.last.data == source.data && in.last.bytes == source.bytes;
    bool same = same_place && in.last.version == source.version;
    same |= device_.resident().find(source) != nullptr;  // another plan keeps it
    in.seen = true;
    in.last = source;
    if (in.distrust || (!same && !desc_.roots[r].keep_resident)) {
      // Most likely an activation that changes with every call, or a weight written behind its version
      // counter.
      in.resident.reset();
      if (!in.own) in.own = device_.memory().allocate(source.bytes, MemoryKind::kDevice);
      copies.push_back({source.data, place(batch.uploads[i]), source.bytes, {}});
      continue;
    }
    if (!in.resident || !same_place) in.resident = device_.resident().get(source);
    in.own.reset();
    if (in.resident->filled && in.resident->version == source.version) {
      checks.push_back({r, source});
      device_.stats.resident_hits++;
      continue;
    }
    in.resident->filled = false;
    copies.push_back({source.data, place(batch.uploads[i]), source.bytes, {}});
    checks.push_back({r, source});
  }
}

void Program::Frame::upload(std::vector<Copy>& copies) {
  const Api& api = device_.api();
  bool unified = device_.memory().unified();
  for (Copy& copy : copies) {
    device_.stats.uploads++;
    device_.stats.upload_bytes += copy.bytes;
    if (unified) {
      std::memcpy(copy.to.mapped, copy.from, static_cast<size_t>(copy.bytes));
      continue;
    }
    copy.staging = device_.memory().allocate(copy.bytes, MemoryKind::kStaging);
    std::memcpy(copy.staging.mapped(), copy.from, static_cast<size_t>(copy.bytes));
  }
  if (unified || copies.empty()) return;
  if (!upload_commands_) upload_commands_ = new_commands();
  begin(upload_commands_);
  for (const Copy& copy : copies) {
    VkBufferCopy region{static_cast<VkDeviceSize>(copy.staging.offset()),
                        static_cast<VkDeviceSize>(copy.to.offset), static_cast<VkDeviceSize>(copy.bytes)};
    api.CmdCopyBuffer(upload_commands_, copy.staging.handle(), copy.to.buffer, 1, &region);
  }
  barrier(upload_commands_, kTransfer, VK_ACCESS_TRANSFER_WRITE_BIT, kCompute | kTransfer,
          VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT);
  check(api.EndCommandBuffer(upload_commands_), "record commands");
}

void Program::Frame::submit(const Recorded& recorded, bool uploads) {
  check(device_.api().ResetFences(device_.handle(), 1, &fence_), "reset a fence");
  if (uploads && !device_.memory().unified()) device_.submit(upload_commands_, VK_NULL_HANDLE);
  for (size_t i = 0; i < recorded.commands.size(); i++) {
    device_.submit(recorded.commands[i], i + 1 == recorded.commands.size() ? fence_ : VK_NULL_HANDLE);
  }
}

void Program::Frame::run(int index, std::span<const HostSource> sources, std::span<void* const> targets) {
  auto b = static_cast<size_t>(index);
  const Batch& batch = desc_.batches[b];
  Recorded& recorded = recorded_[b];
  std::vector<Copy> copies;
  std::vector<Check> checks;
  place_inputs(batch, sources, copies, checks);
  upload(copies);
  bool timed = kernel_timestamps() && queries_;
  if (recorded.commands.empty() || recorded.timed != timed || recorded.places != places_of(batch)) {
    record(index, timed);
  }
  submit(recorded, !copies.empty());
  // The device works; meanwhile look whether what was taken for unchanged is.
  std::vector<Copy> stale;
  for (const Check& c : checks) {
    ResidentTensor& tensor = *inputs_[c.root].resident;
    Fingerprint now = fingerprint(c.source.data, static_cast<size_t>(c.source.bytes));
    if (tensor.filled && tensor.content != now) {
      stale.push_back({c.source.data, place(static_cast<int>(c.root)), c.source.bytes, {}});
      tensor.filled = false;
      inputs_[c.root].distrust = true;
    }
    tensor.content = now;
    tensor.version = c.source.version;
  }
  device_.wait(fence_);
  if (!stale.empty()) {
    device_.stats.stale_retries++;
    upload(stale);
    submit(recorded, true);
    device_.wait(fence_);
  }
  for (const Check& c : checks) inputs_[c.root].resident->filled = true;
  device_.stats.dispatches += static_cast<int64_t>(batch.dispatches.size());
  for (size_t i = 0; i < batch.downloads.size(); i++) {
    int64_t bytes = desc_.roots[static_cast<size_t>(batch.downloads[i])].bytes;
    const std::byte* from =
        recorded.read_back.empty() ? place(batch.downloads[i]).mapped : recorded.read_back[i].mapped();
    if (bytes > 0) std::memcpy(targets[i], from, static_cast<size_t>(bytes));
    device_.stats.downloads++;
  }
  read_times(recorded, batch.dispatches.size());
}

void Program::Frame::read_times(Recorded& recorded, size_t dispatches) {
  recorded.times.clear();
  if (!recorded.timed || dispatches == 0) return;
  std::vector<uint64_t> ticks(2 * dispatches);
  VkResult result = device_.api().GetQueryPoolResults(
      device_.handle(), queries_, recorded.first_query, static_cast<uint32_t>(ticks.size()), ticks.size() * 8,
      ticks.data(), 8, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  if (result != VK_SUCCESS) return;
  for (size_t i = 0; i < dispatches; i++) {
    recorded.times.push_back(static_cast<double>(ticks[2 * i + 1] - ticks[2 * i]) *
                             device_.traits().timestamp_ns / 1000);
  }
}

std::vector<double> Program::Frame::times_us() const {
  std::vector<double> out;
  for (const Recorded& recorded : recorded_)
    out.insert(out.end(), recorded.times.begin(), recorded.times.end());
  return out;
}

}  // namespace breakline::vulkan
