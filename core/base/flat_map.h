// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace breakline {

/// Mixes the bits of a pointer or number, so that the low ones say something of all.
struct MixHash {
  template <class T>
  size_t operator()(T* p) const {
    return (*this)(reinterpret_cast<uintptr_t>(p));
  }
  size_t operator()(uint64_t x) const {
    x *= 0x9E3779B97F4A7C15ull;
    return static_cast<size_t>(x ^ x >> 32);
  }
};

/// A hash table without nodes, for tables that only grow: no erasing. References die with the next insertion.
/// `kKeepsRoom`: a large table's room is kept for the next one of its type, whose keys and values need no destructor; one thread at a time.
template <class Key, class Value, class Hash = MixHash, bool kKeepsRoom = false>
class FlatMap {
 public:
  FlatMap() = default;
  FlatMap(FlatMap&& other) noexcept : slots_(std::move(other.slots_)), size_(std::exchange(other.size_, 0)) {}
  FlatMap& operator=(FlatMap&& other) noexcept {
    std::swap(slots_, other.slots_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~FlatMap() { leave(); }

  /// The value of `key`, or null.
  Value* find(const Key& key) {
    if (slots_.empty()) return nullptr;
    Slot& s = slots_[place_of(key)];
    return s.used ? &s.value : nullptr;
  }
  /// The value of `key`, made of `otherwise` when there was none; and whether it was made.
  std::pair<Value*, bool> try_emplace(const Key& key, Value otherwise) {
    if ((size_ + 1) * 4 > slots_.size() * 3) grow();
    Slot& s = slots_[place_of(key)];
    if (s.used) return {&s.value, false};
    s.used = true;
    s.key = key;
    s.value = std::move(otherwise);
    ++size_;
    return {&s.value, true};
  }
  void set(const Key& key, Value value) { *try_emplace(key, value).first = std::move(value); }
  size_t size() const { return size_; }
  void clear() {
    leave();
    slots_ = {};
    size_ = 0;
  }
  /// Calls f(key, value) for each entry, in no order.
  template <class F>
  void each(F&& f) {
    for (Slot& s : slots_)
      if (s.used) f(s.key, s.value);
  }

 private:
  struct Slot {
    Key key{};
    Value value{};
    bool used = false;
  };
  static constexpr size_t kLarge = 1024, kGrowsFast = 4096;

  size_t place_of(const Key& key) const {
    const size_t mask = slots_.size() - 1;
    size_t i = Hash{}(key)&mask;
    while (slots_[i].used && !(slots_[i].key == key)) i = (i + 1) & mask;
    return i;
  }
  void grow() {
    if constexpr (kKeepsRoom)
      if (slots_.empty() && !spare_.empty()) return slots_.swap(spare_);
    std::vector<Slot> old(slots_.empty() ? 64 : slots_.size() * (slots_.size() < kGrowsFast ? 4 : 2));
    old.swap(slots_);
    for (Slot& s : old)
      if (s.used) slots_[place_of(s.key)] = std::move(s);
  }
  /// Room that was hardly used is not kept: what comes next may be small as well.
  void leave() {
    if constexpr (kKeepsRoom) {
      if (slots_.size() < kLarge || size_ * 16 < slots_.size() || slots_.size() <= spare_.size()) return;
      for (Slot& s : slots_) s.used = false;
      slots_.swap(spare_);
    }
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
  inline static std::vector<Slot> spare_;
};

}  // namespace breakline
