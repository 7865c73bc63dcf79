// SPDX-License-Identifier: GPL-3.0-or-later
// Each piece is held by a tensor of our own that no Python object stands for; a result is a second tensor
// over the same storage. While PyTorch counts one owner of the storage, nobody else can reach the memory:
// neither a view nor an array nor a storage object of the program's is left.
#include "core/torch/kept_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/torch/library.h"
#include "core/torch/tensor.h"

namespace breakline::torch {
namespace {

struct Piece {
  void* base = nullptr;  ///< handle, owned
  void* storage = nullptr;
  void* data = nullptr;
  int64_t bytes = 0;
  graph::DType dtype = graph::DType::kOther;
  uint64_t used = 0;  ///< the clock at its last use
};

/// Pieces of one kind: more are in use at a time only where results are collected, and those come from
/// PyTorch.
constexpr int kMostAlike = 4;
/// Pieces that were not asked for this long go, whatever room there is.
constexpr uint64_t kIdle = 4096;

/// The StorageImpl lies first behind a tensor's virtual table and reference counts; verified by `usable`.
void* storage_behind(void* handle) {
  void* storage = nullptr;
  std::memcpy(&storage, *static_cast<char**>(handle) + MetaImage::kFirst, sizeof storage);
  return storage;
}

/// torch._C._storage_Use_Count(address); -1 when it cannot be had.
int64_t owners_of(void* storage) {
  static PyObject* const count = [] {
    PyObject* found = PyObject_GetAttrString(library()->py.torch_c, "_storage_Use_Count");
    if (!found) PyErr_Clear();
    return found;
  }();
  const py::Ref address = py::Ref::steal(count ? PyLong_FromVoidPtr(storage) : nullptr);
  const py::Ref answer = py::Ref::steal(address ? PyObject_CallOneArg(count, address.get()) : nullptr);
  const int64_t owners = answer ? PyLong_AsLongLong(answer.get()) : -1;
  PyErr_Clear();
  return owners;
}

/// Whether a storage is where it is looked for and its owners are counted as expected.
bool works(void* base, void* second) {
  void* storage = storage_behind(base);
  if (storage != storage_behind(second) || owners_of(storage) != 2) return false;
  const py::Ref object = py::Ref::steal(library()->cpp.wrap(second));
  const py::Ref wrapper =
      py::Ref::steal(object ? PyObject_CallMethod(object.get(), "untyped_storage", nullptr) : nullptr);
  const py::Ref address = py::Ref::steal(wrapper ? PyObject_GetAttrString(wrapper.get(), "_cdata") : nullptr);
  const bool same = address && PyLong_AsVoidPtr(address.get()) == storage;
  PyErr_Clear();
  return same;
}

class KeptMemory {
 public:
  /// A handle of a tensor over a free or a new piece; null where that can't be had.
  void* take(std::span<const int64_t> sizes, std::span<const int64_t> strides, graph::DType dtype,
             int64_t bytes, void (*fresh)(void*, int64_t)) {
    if (bytes > limit_ || !usable()) return nullptr;
    ++clock_;
    drop_idle();
    int alike = 0;
    for (Piece& piece : pieces_) {
      if (piece.bytes != bytes || piece.dtype != dtype) continue;
      if (is_free(piece)) return over(piece, sizes, strides);
      ++alike;
    }
    if (alike >= kMostAlike)
      drop_oldest([&](const Piece& p) { return p.bytes == bytes && p.dtype == dtype; });
    while (kept_ + bytes > limit_) drop_oldest([](const Piece&) { return true; });
    Piece piece{.bytes = bytes, .dtype = dtype};
    const int64_t count = bytes / graph::item_size(dtype), one = 1;
    if (library()->c.empty_strided(1, &count, &one, static_cast<int32_t>(dtype), 0, -1, &piece.base) != 0)
      return nullptr;
    piece.storage = storage_behind(piece.base);
    library()->c.get_data_ptr(piece.base, &piece.data);
    if (fresh) fresh(piece.data, bytes);
    kept_ += bytes;
    pieces_.push_back(piece);
    return over(pieces_.back(), sizes, strides);
  }
  int64_t bytes() const { return kept_; }
  void clear() {
    while (!pieces_.empty()) drop(pieces_.size() - 1);
  }

 private:
  /// Nobody else has the storage, and it is as it was made (not resized, moved or made anew).
  static bool is_free(const Piece& piece) {
    if (owners_of(piece.storage) != 1 || storage_behind(piece.base) != piece.storage) return false;
    void* data = nullptr;
    int64_t size = 0;
    library()->c.get_data_ptr(piece.base, &data);
    library()->c.get_storage_size(piece.base, &size);
    return data == piece.data && size == piece.bytes;
  }
  void* over(Piece& piece, std::span<const int64_t> sizes, std::span<const int64_t> strides) const {
    piece.used = clock_;
    void* handle = nullptr;
    const Status status = library()->c.reinterpret(piece.base, static_cast<int64_t>(sizes.size()),
                                                   sizes.data(), strides.data(), 0, &handle);
    return status == 0 ? handle : nullptr;
  }
  void drop(size_t at) {
    kept_ -= pieces_[at].bytes;
    library()->c.delete_tensor(pieces_[at].base);
    pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(at));
  }
  template <class Wanted>
  void drop_oldest(Wanted wanted) {
    size_t oldest = pieces_.size();
    for (size_t i = 0; i < pieces_.size(); ++i) {
      if (wanted(pieces_[i]) && (oldest == pieces_.size() || pieces_[i].used < pieces_[oldest].used))
        oldest = i;
    }
    if (oldest < pieces_.size()) drop(oldest);
  }
  void drop_idle() {
    if (clock_ % kIdle != 0) return;
    for (size_t i = pieces_.size(); i-- > 0;) {
      if (clock_ - pieces_[i].used > kIdle) drop(i);
    }
  }
  bool usable() {
    if (!asked_) {
      asked_ = true;
      const int64_t count = 16, one = 1;
      void *base = nullptr, *second = nullptr;
      const CInterface& c = library()->c;
      if (c.reinterpret && library()->cpp.wrap &&
          c.empty_strided(1, &count, &one, static_cast<int32_t>(graph::DType::kFloat32), 0, -1, &base) == 0) {
        usable_ = c.reinterpret(base, 1, &count, &one, 0, &second) == 0 && works(base, second);
        if (second) c.delete_tensor(second);
        c.delete_tensor(base);
      }
    }
    return usable_;
  }
  static int64_t limit() {
    constexpr int64_t kMiB = 1 << 20;
    if (const char* given = std::getenv("BREAKLINE_KEPT_MEMORY"))
      return std::max(std::atoll(given), 0LL) * kMiB;
    const int64_t machine = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
    return std::min(machine / 16, 512 * kMiB);
  }

  std::vector<Piece> pieces_;
  int64_t kept_ = 0;
  const int64_t limit_ = limit();
  uint64_t clock_ = 0;
  bool asked_ = false, usable_ = false;
};

/// Never freed: PyTorch's part may be gone at exit.
KeptMemory& kept() {
  static auto& memory = *new KeptMemory;
  return memory;
}

}  // namespace

PyObject* new_large(std::span<const int64_t> sizes, std::span<const int64_t> strides, graph::DType dtype,
                    void (*fresh)(void*, int64_t)) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  const int64_t bytes = count * graph::item_size(dtype);
  if (void* handle = kept().take(sizes, strides, dtype, bytes, fresh)) {
    PyObject* object = library()->cpp.wrap(handle);
    library()->c.delete_tensor(handle);
    if (object) return object;
    PyErr_Clear();
  }
  PyObject* made = new_empty(sizes, strides, dtype);
  if (made && fresh) fresh(data_ptr(made), bytes);
  return made;
}

int64_t kept_bytes() { return kept().bytes(); }
void release_kept_memory() { kept().clear(); }

}  // namespace breakline::torch
