// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/frozen.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include "core/torch/ambient.h"
#include "core/torch/node_runner.h"
#include "core/torch/tensor.h"

namespace breakline::cpu {
namespace {

constexpr int kMostChanges = 3;
constexpr int kMostFullChecks = 64;
constexpr size_t kSmall = size_t{64} << 10;  ///< bytes that may be compared in full at every call
constexpr size_t kPlaces = 32;

uint64_t word_at(const char* data) {
  uint64_t word;
  std::memcpy(&word, data, sizeof word);
  return word;
}

uint64_t mixed(uint64_t word, uint64_t place) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15u;
  word = (word ^ (place * kOdd)) * 0xd6e8feb86659fd93u;
  return word ^ (word >> 32);
}

/// Of `count` words spread over `bytes` bytes, the last ones included.
uint64_t digest(const char* data, size_t bytes, size_t count) {
  constexpr size_t kWord = sizeof(uint64_t);
  if (bytes < kWord) {
    uint64_t word = 0;
    if (bytes) std::memcpy(&word, data, bytes);
    return mixed(word, bytes);
  }
  const size_t last = bytes - kWord;
  count = std::min(count, bytes / kWord);
  uint64_t sum = mixed(word_at(data + last), bytes);
  const size_t step = count > 0 ? last / count : 0;
  for (size_t i = 0; i < count; ++i) sum += mixed(word_at(data + i * step), i);
  return sum;
}

uint64_t digest_of_all(const char* data, size_t bytes) {
  uint64_t sum = digest(data, bytes, 0);
  for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += sizeof(uint64_t)) sum += mixed(word_at(data + i), i);
  return sum;
}

size_t bytes_of(const torch::RawMeta& meta) {
  int64_t last = 0;
  for (int64_t d = 0; d < meta.rank; ++d) {
    if (meta.sizes[d] == 0) return 0;
    last += (meta.sizes[d] - 1) * meta.strides[d];
  }
  return static_cast<size_t>(last + 1) * static_cast<size_t>(graph::item_size(meta.dtype));
}

bool is_shared(PyObject* tensor) {
  const py::Ref answer = py::Ref::steal(PyObject_CallMethod(tensor, "is_shared", nullptr));
  PyErr_Clear();
  return answer.get() != Py_False;
}

/// How many sets of prepared values each memory is in. One plan per size of the inputs would else keep one
/// copy of all weights each.
std::unordered_map<const void*, int>& uses_of_memory() {
  static auto& table = *new std::unordered_map<const void*, int>;
  return table;
}
constexpr int kMostUses = 3;

/// Computes without recording, whatever the caller's state is.
class NoGrad {
 public:
  NoGrad() : before_(torch::current_ambient()) {
    torch::Ambient off = before_;
    off.grad_mode = false;
    torch::restore_ambient(off);
  }
  ~NoGrad() { torch::restore_ambient(before_); }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  torch::Ambient before_;
};

}  // namespace

FrozenValues::FrozenValues(const graph::Split& parts) {
  if (!parts.frozen) return;
  for (const int input : parts.sources) {
    sources_.emplace_back();
    sources_.back().input = input;
  }
  plan_ = torch::make_replay_plan(parts.frozen, "computed ahead");
  values_.assign(parts.kept.size(), nullptr);
}

void FrozenValues::clear() {
  if (made_) {
    for (const Source& s : sources_) {
      const auto it = uses_of_memory().find(s.data);
      if (it != uses_of_memory().end() && --it->second == 0) uses_of_memory().erase(it);
    }
  }
  made_ = false;
  for (graph::ObjectHandle& value : values_) {
    Py_XDECREF(static_cast<PyObject*>(value));
    value = nullptr;
  }
}

bool FrozenValues::take(Source& s, PyObject* tensor) {
  if (!torch::is_plain_tensor(tensor)) return false;
  const torch::RawMeta meta = torch::raw_meta(tensor);
  if (!torch::is_plain_keys(meta.key_set) || meta.device != graph::DeviceKind::kCpu || is_shared(tensor))
    return false;
  const void* data = torch::data_ptr(tensor);
  // Who held the memory when it was first seen is trusted to write by the version counter; who got it since
  // is not.
  const bool known =
      s.object == tensor && s.data == data && s.weak && PyWeakref_GET_OBJECT(s.weak.get()) == tensor;
  s.object = tensor;
  s.version = torch::version_of(tensor);
  if (!known) {
    s.weak = py::Ref::steal(PyWeakref_NewRef(tensor, nullptr));
    s.exposures = torch::watch_exposure(tensor);
    s.holders = torch::storage_holders(tensor);
    s.checks = 0;
    if (s.exposures) s.seen = *s.exposures;
  }
  if (!s.weak || s.version < 0 || !s.exposures || s.holders < 0) return false;
  s.data = static_cast<const char*>(torch::data_ptr(tensor));
  s.bytes = bytes_of(meta);
  s.sample = digest(s.data, s.bytes, kPlaces);
  s.whole = digest_of_all(s.data, s.bytes);
  return true;
}

bool FrozenValues::same(Source& s, PyObject* tensor) {
  if (s.object != tensor || PyWeakref_GET_OBJECT(s.weak.get()) != tensor ||
      torch::data_ptr(tensor) != s.data || torch::version_of(tensor) != s.version)
    return false;
  const uint64_t exposures = *s.exposures;
  if (exposures == s.seen) return digest(s.data, s.bytes, kPlaces) == s.sample;
  // Counted first: once nobody else holds the memory, only writes that the version counter tells of can
  // follow.
  const bool open = torch::storage_holders(tensor) > s.holders;
  if (digest_of_all(s.data, s.bytes) != s.whole) return false;
  if (!open) {
    s.seen = exposures;
    s.checks = 0;
  } else if (s.bytes > kSmall && ++s.checks > kMostFullChecks) {
    exposed_ = true;
  }
  return true;
}

FrozenValues::State FrozenValues::refresh(graph::ObjectHandle const* inputs) {
  if (!plan_) return State::kReady;
  const bool stays = made_ && std::all_of(sources_.begin(), sources_.end(), [&](Source& s) {
                       return same(s, static_cast<PyObject*>(inputs[s.input]));
                     });
  if (stays) {
    changes_ = 0;
    return exposed_ ? State::kUnstable : State::kReady;
  }
  if (made_ && ++changes_ > kMostChanges) return State::kUnstable;
  return compute(inputs);
}

FrozenValues::State FrozenValues::compute(graph::ObjectHandle const* inputs) {
  clear();
  for (Source& s : sources_)
    if (!take(s, static_cast<PyObject*>(inputs[s.input]))) {
      PyErr_Clear();
      return State::kFailed;
    }
  for (const Source& s : sources_) {
    const auto it = uses_of_memory().find(s.data);
    if (s.bytes > kSmall && it != uses_of_memory().end() && it->second >= kMostUses) return State::kFailed;
  }
  const NoGrad off;
  if (plan_->run(inputs, values_.data()) >= 0) {
    PyErr_Clear();
    values_.assign(values_.size(), nullptr);
    return State::kFailed;
  }
  made_ = true;
  for (const Source& s : sources_) ++uses_of_memory()[s.data];
  return State::kReady;
}

}  // namespace breakline::cpu
