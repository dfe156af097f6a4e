#include "base/buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace millrace {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

Result<Buffer> Buffer::allocate(std::size_t bytes) {
  Buffer buffer;
  if (bytes == 0) return buffer;
  const bool huge = bytes >= kHugePage;
  const std::size_t mapped = huge ? (bytes + 2 * kHugePage - 1) / kHugePage * kHugePage : bytes;
  void* base = MAP_FAILED;
  if (mapped >= bytes) base = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) {
    return make_error(ErrorCode::kResourceExhausted, "memory", "cannot allocate {} bytes of memory", bytes);
  }
  buffer.mapped_ = {static_cast<std::byte*>(base), mapped};
  buffer.data_ = buffer.mapped_.data();
  buffer.size_ = bytes;
  if (huge) {
    const auto address = reinterpret_cast<std::uintptr_t>(base);
    const std::uintptr_t aligned = (address + kHugePage - 1) / kHugePage * kHugePage;
    buffer.data_ += aligned - address;
    ::madvise(buffer.data_, bytes, MADV_HUGEPAGE);  // a wish: without it everything still works
  }
  return buffer;
}

void Buffer::populate(std::size_t offset, std::size_t bytes) const noexcept {
#ifdef MADV_POPULATE_WRITE
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(data_ + std::min(offset, size_)) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(data_ + std::min(offset + bytes, size_));
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_WRITE);
#endif
}

void Buffer::give_back(std::size_t offset, std::size_t bytes) const noexcept {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<std::uintptr_t>(data_ + std::min(offset, size_)) + page - 1) / page * page;
  const auto end = reinterpret_cast<std::uintptr_t>(data_ + std::min(offset + bytes, size_)) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

Buffer::~Buffer() {
  if (!mapped_.empty()) ::munmap(mapped_.data(), mapped_.size());
}

}  // namespace millrace
