#pragma once

#include "kv/page_device.h"

namespace millrace::kv {

// Is called when the contents of pages change other than by a step. For owners of memory beside each page.
class PageListener {
 public:
  virtual ~PageListener() = default;
  virtual void copied(BlockId from, BlockId to) = 0;
  virtual void rewritten(BlockId page) = 0;  // swapped in, or loaded from disk
  // What this owner keeps beside each page, as of PageDevice.
  virtual PageCompanion companion() const noexcept { return {}; }
  virtual void read_companion(BlockId /*page*/, std::span<std::byte> /*out*/) const {}
  virtual void write_companion(BlockId /*page*/, std::span<const std::byte> /*in*/) {}
};

// A device that forwards every call, and calls its listener for copies and writes; the companion is the listener's. The
// device must outlive it.
class MirroredPages final : public PageDevice {
 public:
  explicit MirroredPages(PageDevice& device) : device_(device) {}
  // The listener from now on, which must outlive the pages or another call; null: none.
  void follow(PageListener* listener) noexcept { listener_ = listener; }

  PageDevice* windowed() noexcept override { return device_.windowed(); }
  std::size_t page_bytes() const noexcept override { return device_.page_bytes(); }
  bool intact() const noexcept override { return device_.intact(); }
  void copy(BlockId from, BlockId to) override {
    device_.copy(from, to);
    if (listener_ != nullptr) listener_->copied(from, to);
  }
  void read(BlockId page, std::span<std::byte> out) const override { device_.read(page, out); }
  void write(BlockId page, std::span<const std::byte> in) override {
    device_.write(page, in);
    if (listener_ != nullptr) listener_->rewritten(page);
  }
  PageCompanion companion() const noexcept override {
    return listener_ == nullptr ? PageCompanion() : listener_->companion();
  }
  void read_companion(BlockId page, std::span<std::byte> out) const override { listener_->read_companion(page, out); }
  void write_companion(BlockId page, std::span<const std::byte> in) override { listener_->write_companion(page, in); }
  void freed(BlockId page) override { device_.freed(page); }
  void taken(BlockId first, std::int32_t n, BlockId next) override { device_.taken(first, n, next); }
  std::int32_t memory_parts() const noexcept override { return device_.memory_parts(); }
  void give_back(std::int32_t part, const std::function<bool(BlockId)>& kept) override {
    device_.give_back(part, kept);
  }
  std::pmr::memory_resource& host_memory() noexcept override { return device_.host_memory(); }

 private:
  PageDevice& device_;
  PageListener* listener_ = nullptr;
};

}  // namespace millrace::kv
