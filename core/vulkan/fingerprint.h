// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace breakline::vulkan {

/// 128-bit content hash; a change that goes unnoticed has a chance of about 2^-64. Not against an adversary.
using Fingerprint = std::array<uint64_t, 2>;

/// About 15–20 GB/s on one core.
Fingerprint fingerprint(const void* data, size_t bytes);

}  // namespace breakline::vulkan
