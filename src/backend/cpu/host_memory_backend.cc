#include "backend/cpu/host_memory_backend.h"

#include <cstring>

#include "backend/cpu/host_operands.h"
#include "backend/cpu/kv_layout.h"
#include "base/buffer.h"

namespace millrace::backend::cpu {
namespace {

class Memory final : public DeviceMemory {
 public:
  explicit Memory(Buffer buffer) noexcept : buffer_(std::move(buffer)) {}
  void populate(std::size_t offset, std::size_t bytes) const noexcept override { buffer_.populate(offset, bytes); }
  void give_back(std::size_t offset, std::size_t bytes) const noexcept override { buffer_.give_back(offset, bytes); }

 private:
  Buffer buffer_;
};

}  // namespace

Result<DeviceBuffer> HostMemoryBackend::allocate(std::size_t bytes) {
  Result<Buffer> buffer = Buffer::allocate(bytes);
  if (!buffer) return buffer.error();
  const DeviceAddress address = address_of(buffer->data());
  return DeviceBuffer(address, bytes, std::make_unique<Memory>(*std::move(buffer)));
}

void HostMemoryBackend::upload(std::span<const std::byte> from, DeviceAddress to) {
  synchronize();
  std::memcpy(pointer<std::byte>(to), from.data(), from.size());
}

void HostMemoryBackend::download(DeviceAddress from, std::span<std::byte> out) {
  synchronize();
  std::memcpy(out.data(), pointer<std::byte>(from), out.size());
}

void HostMemoryBackend::copy(DeviceAddress from, DeviceAddress to, std::size_t bytes) {
  synchronize();
  std::memcpy(pointer<std::byte>(to), pointer<std::byte>(from), bytes);
}

HostView HostMemoryBackend::host_view(const DeviceView& results) { return HostView(on_host(results)); }

std::size_t HostMemoryBackend::kv_page_bytes(const KvFormat& format) const noexcept {
  return geometry_of(format).page_bytes();
}

Result<void> HostMemoryBackend::check_kv_format(const KvFormat& format) const { return check_pages(format); }

Limits HostMemoryBackend::limits() const noexcept { return {.max_key_dim = kMaxKeyDim, .max_value_dim = kMaxValueDim}; }

}  // namespace millrace::backend::cpu
