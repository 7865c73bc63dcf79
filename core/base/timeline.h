// SPDX-License-Identifier: GPL-3.0-or-later
// A timeline of calls: marks in a ring, each one reading of the processor's counter and one store. What lies
// between two marks is what the later one names.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace breakline::base {

/// The cheapest clock there is, in steps of its own; it runs evenly and never goes back on machines whose
/// counter the kernel itself trusts.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// What ended (or, for kCall and kCompiled, began) at a mark.
enum class MarkKind : std::uint8_t {
  kCall,         ///< a call of the root begins
  kEntered,      ///< guards held and inputs are at hand; a segment's plan begins (id: segment)
  kKernel,       ///< a kernel or operator of the plan ended (id: its index)
  kPlan,         ///< the plan ended (id: segment)
  kLeft,         ///< the live state is rebuilt; a break's instruction begins (id: break, -1 a step)
  kInstruction,  ///< it ended
  kCompiled,     ///< a segment was traced and compiled
  kReturn,       ///< the call ended
};

/// A point in time. `device_ns`: for kernels timed by their device, which are not in step with the marks;
/// else 0.
struct Mark {
  std::uint64_t at = 0;
  std::int64_t device_ns = 0;
  std::int32_t id = -1;
  MarkKind kind = MarkKind::kCall;
};

/// The ring. Used by one thread at a time (with the GIL held); older marks are overwritten when it is full.
class Timeline {
 public:
  /// `capacity` is rounded up to a power of two.
  explicit Timeline(std::size_t capacity) {
    std::size_t size = 1;
    while (size < capacity) size *= 2;
    marks_.resize(size);
    mask_ = size - 1;
  }
  void mark(MarkKind kind, std::int32_t id, std::int64_t device_ns = 0) {
    marks_[count_++ & mask_] = {ticks(), device_ns, id, kind};
  }
  /// Marks made so far, those overwritten included.
  std::size_t count() const { return count_; }
  /// The marks that are left, oldest first.
  std::vector<Mark> marks() const {
    std::vector<Mark> list;
    for (std::size_t i = count_ > marks_.size() ? count_ - marks_.size() : 0; i < count_; ++i)
      list.push_back(marks_[i & mask_]);
    return list;
  }

 private:
  std::vector<Mark> marks_;
  std::size_t mask_ = 0, count_ = 0;
};

}  // namespace breakline::base
