// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/cpu/object_store.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Support/SHA256.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace breakline::cpu {
namespace {

std::string digest(const std::string& text) {
  llvm::SHA256 hash;
  hash.update(text);
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

}  // namespace

ObjectStore::ObjectStore(const HostTarget& host) {
  const char* folder = std::getenv("BREAKLINE_CACHE_DIR");
  if (!folder || !*folder) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return;
  folder_ = folder;
  salt_ = host.cpu + '/' + std::to_string(host.vector_bytes) + (host.fma ? "f" : "") +
          (host.half ? "h" : "") + '/' + LLVM_VERSION_STRING + '/' + std::to_string(kJitInterface) + '\n';
}

std::string ObjectStore::path(const std::string& content) const {
  return folder_ + '/' + digest(salt_ + content) + ".o";
}

std::unique_ptr<llvm::MemoryBuffer> ObjectStore::load(const std::string& content) const {
  if (folder_.empty()) return nullptr;
  std::ifstream file(path(content), std::ios::binary);
  std::string sum;
  if (!std::getline(file, sum)) return nullptr;
  std::string object{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (digest(object) != sum) return nullptr;
  return llvm::MemoryBuffer::getMemBufferCopy(object, "kernel");
}

void ObjectStore::save(const std::string& content, llvm::StringRef object) const {
  if (folder_.empty()) return;
  const std::string name = path(content), draft = name + '.' + std::to_string(getpid());
  {
    std::ofstream file(draft, std::ios::binary);
    file << digest(object.str()) << '\n';
    file.write(object.data(), static_cast<std::streamsize>(object.size()));
    if (!file) return;
  }
  std::error_code error;
  std::filesystem::rename(draft, name, error);
  if (error) std::filesystem::remove(draft, error);
}

}  // namespace breakline::cpu
