// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <new>

namespace breakline {

/// Memory for small objects that come and go in great numbers: kept for the next of about that size, never given back. One thread at
/// a time, as with the GIL.
class Pool {
 public:
  static void* take(size_t bytes) {
    if (bytes > kLargest) return ::operator new(bytes);
    const size_t kind = kind_of(bytes);
    if (!free_[kind]) refill(kind);
    Free* first = free_[kind];
    free_[kind] = first->next;
    return first;
  }
  static void give(void* memory, size_t bytes) {
    if (bytes > kLargest) return ::operator delete(memory);
    auto* freed = static_cast<Free*>(memory);
    Free*& first = free_[kind_of(bytes)];
    freed->next = first;
    first = freed;
  }

 private:
  struct Free {
    Free* next;
  };
#ifdef __SANITIZE_ADDRESS__
  static constexpr bool kKeeps = false;  // so that the sanitizer sees each object's end
#else
  static constexpr bool kKeeps = true;
#endif
  static constexpr size_t kSmallest = 16, kLargest = kKeeps ? 512 : 0, kChunk = 16 * 1024;
  static size_t kind_of(size_t bytes) { return bytes <= kSmallest ? 0 : static_cast<size_t>(std::bit_width(bytes - 1)) - 4; }
  static void refill(size_t kind) {
    const size_t size = kSmallest << kind;
    auto* chunk = static_cast<char*>(::operator new(kChunk));
    for (size_t at = kChunk; at >= size; at -= size) {
      auto* part = reinterpret_cast<Free*>(chunk + at - size);
      part->next = free_[kind];
      free_[kind] = part;
    }
  }
  inline static std::array<Free*, 6> free_{};
};

/// For containers of such objects.
template <class T>
struct PoolAllocator {
  using value_type = T;
  PoolAllocator() = default;
  template <class U>
  PoolAllocator(const PoolAllocator<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(Pool::take(n * sizeof(T))); }
  void deallocate(T* memory, size_t n) { Pool::give(memory, n * sizeof(T)); }
  bool operator==(const PoolAllocator&) const { return true; }
};

}  // namespace breakline
