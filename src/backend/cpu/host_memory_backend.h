#pragma once

#include "backend/backend.h"

namespace millrace::backend::cpu {

// The part of a Backend that follows from memory being the host's: an address is a pointer, and results are read where
// they are. Transfers wait for synchronize().
class HostMemoryBackend : public Backend {
 public:
  Limits limits() const noexcept override;
  Result<DeviceBuffer> allocate(std::size_t bytes) override;
  void upload(std::span<const std::byte> from, DeviceAddress to) override;
  void download(DeviceAddress from, std::span<std::byte> out) override;
  void copy(DeviceAddress from, DeviceAddress to, std::size_t bytes) override;
  HostView host_view(const DeviceView& results) override;
  std::size_t kv_page_bytes(const KvFormat& format) const noexcept override;
  Result<void> check_kv_format(const KvFormat& format) const override;
};

}  // namespace millrace::backend::cpu
