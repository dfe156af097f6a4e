#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>

#include "backend/backend.h"
#include "kv/page_device.h"

namespace millrace::kv {

// The pages of all layers in device memory: [layer][page], so that one layer's pages of a sequence lie together. Fixed
// size; the backend outlives it.
class KvStore final : public PageDevice {
 public:
  // kResourceExhausted naming the size and the limit that the machine has.
  static Result<KvStore> create(backend::Backend& backend, std::int64_t n_layers, const backend::KvFormat& format,
                                std::int32_t n_pages);

  backend::KvPages layer(std::int64_t index) const noexcept {
    return {memory_.address() + static_cast<std::size_t>(index) * layer_bytes_, format_};
  }
  const backend::KvFormat& format() const noexcept { return format_; }
  std::size_t bytes() const noexcept { return memory_.size(); }

  // Backs all pages with memory, the first ones first, as they are handed out; see DeviceBuffer::populate. Any thread.
  void populate(const std::stop_token& stop) const noexcept;

  std::size_t page_bytes() const noexcept override { return layer_page_bytes_ * n_layers_; }
  void copy(BlockId from, BlockId to) override;
  void read(BlockId page, std::span<std::byte> out) const override;
  void write(BlockId page, std::span<const std::byte> in) override;

 private:
  KvStore() = default;
  backend::DeviceAddress page_of(std::size_t layer, BlockId page) const noexcept {
    return memory_.address() + layer * layer_bytes_ + static_cast<std::size_t>(page) * layer_page_bytes_;
  }
  backend::Backend* backend_ = nullptr;
  backend::KvFormat format_;
  std::size_t layer_page_bytes_ = 0, layer_bytes_ = 0, n_layers_ = 0;
  backend::DeviceBuffer memory_;
};

}  // namespace millrace::kv
