#pragma once

#include "kv/page_device.h"

namespace millrace::kv {

// No memory behind the pages: what the host's logic costs alone.
class NoDevice final : public PageDevice {
 public:
  std::size_t page_bytes() const noexcept override { return 8; }
  void copy(BlockId, BlockId) override {}
  void read(BlockId, std::span<std::byte>) const override {}
  void write(BlockId, std::span<const std::byte>) override {}
};

}  // namespace millrace::kv
