#pragma once

#include <vector>

#include "kv/page_device.h"

namespace millrace::kv {

// Keeps something of its own for each page, and wants to know what becomes of them.
class PageListener {
 public:
  virtual ~PageListener() = default;
  virtual void copied(BlockId from, BlockId to) = 0;
  virtual void rewritten(BlockId page) = 0;  // from outside: swapped in, or loaded
};

// A device whose pages may be followed. Device and listeners must outlive it.
class MirroredPages final : public PageDevice {
 public:
  explicit MirroredPages(PageDevice& device) : device_(device) {}
  void follow(PageListener* listener) { listeners_.push_back(listener); }

  std::size_t page_bytes() const noexcept override { return device_.page_bytes(); }
  void copy(BlockId from, BlockId to) override {
    device_.copy(from, to);
    for (PageListener* listener : listeners_) listener->copied(from, to);
  }
  void read(BlockId page, std::span<std::byte> out) const override { device_.read(page, out); }
  void write(BlockId page, std::span<const std::byte> in) override {
    device_.write(page, in);
    for (PageListener* listener : listeners_) listener->rewritten(page);
  }
  void freed(BlockId page) override { device_.freed(page); }
  std::pmr::memory_resource& host_memory() noexcept override { return device_.host_memory(); }

 private:
  PageDevice& device_;
  std::vector<PageListener*> listeners_;
};

}  // namespace millrace::kv
