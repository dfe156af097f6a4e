#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "base/checksum.h"
#include "kv/block_table.h"
#include "kv/page_device.h"
#include "kv/prefix_scope.h"

namespace millrace::kv {

// For tests: a device whose pages hold a stamp for each token. A stamp is a checksum of scope and all tokens up to its
// position, since keys and values depend on these. A stale, foreign or misplaced page has other stamps. With a window,
// window pages hold the same stamps once more.
class StampedDevice final : public PageDevice {
 public:
  StampedDevice(std::int32_t pages, std::int64_t block_tokens)
      : block_tokens_(block_tokens), stamps_(static_cast<std::size_t>(pages * block_tokens), 0) {}
  StampedDevice(std::int32_t pages, std::int64_t block_tokens, std::int64_t window, std::int32_t window_pages)
      : StampedDevice(pages, block_tokens) {
    window_ = window;
    windowed_ = std::make_unique<StampedDevice>(window_pages, block_tokens);
  }
  PageDevice* windowed() noexcept override { return windowed_.get(); }

  // The stamps of all tokens of a sequence.
  static std::vector<std::uint64_t> stamps(const PrefixScope& scope, std::span<const std::int32_t> tokens) {
    std::vector<std::uint64_t> result;
    std::uint64_t stamp = checksum(scope.salt, checksum(scope.adapter));
    for (const std::int32_t token : tokens) {
      if (!scope.activated.empty() && std::ssize(result) == scope.activated_from) {
        stamp = checksum(scope.activated, stamp);
      }
      stamp = checksum(std::as_bytes(std::span(&token, 1)), stamp);
      result.push_back(stamp);
    }
    return result;
  }

  std::size_t page_bytes() const noexcept override { return static_cast<std::size_t>(block_tokens_) * 8; }
  void copy(BlockId from, BlockId to) override { std::memcpy(slot(to, 0), slot(from, 0), page_bytes()); }
  void read(BlockId page, std::span<std::byte> out) const override {
    std::memcpy(out.data(), slot(page, 0), page_bytes());
  }
  void write(BlockId page, std::span<const std::byte> in) override {
    std::memcpy(slot(page, 0), in.data(), page_bytes());
  }

  void freed(BlockId page) override { std::memset(slot(page, 0), 0, page_bytes()); }
  std::int32_t memory_parts() const noexcept override { return 1; }
  void give_back(std::int32_t part, const std::function<bool(BlockId)>& kept) override {
    if (on_give_back) on_give_back(part, kept);
  }
  std::function<void(std::int32_t, const std::function<bool(BlockId)>&)> on_give_back;
  std::pmr::memory_resource& host_memory() noexcept override { return host_memory_; }
  // Limits further allocations of host memory to this number; below 0 = no limit.
  void limit_host_pages(int pages) noexcept { host_memory_.left = pages; }

  // Writes the stamps of positions [first, end), as a step of the model writes keys and values.
  void compute(const BlockTable& table, const std::vector<std::uint64_t>& stamps, std::int64_t first,
               std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) {
      *at(table, i) = stamps[static_cast<std::size_t>(i)];
      if (windowed_) *window_at(table, i) = stamps[static_cast<std::size_t>(i)];
    }
  }
  std::uint64_t stamp(const BlockTable& table, std::int64_t position) const { return *at(table, position); }
  // The first position before `end` that does not hold its stamp, in its window page where the token at `end` sees it;
  // `end` if all do.
  std::int64_t first_wrong(const BlockTable& table, const std::vector<std::uint64_t>& stamps, std::int64_t end) const {
    for (std::int64_t i = 0; i < end; ++i) {
      if (*at(table, i) != stamps[static_cast<std::size_t>(i)]) return i;
      const bool seen = windowed_ && i > end - window_;
      if (seen && *window_at(table, i) != stamps[static_cast<std::size_t>(i)]) return i;
    }
    return end;
  }

 private:
  const std::uint64_t* slot(BlockId page, std::int64_t token) const {
    return &stamps_[static_cast<std::size_t>(page * block_tokens_ + token)];
  }
  std::uint64_t* slot(BlockId page, std::int64_t token) {
    return &stamps_[static_cast<std::size_t>(page * block_tokens_ + token)];
  }
  const std::uint64_t* at(const BlockTable& table, std::int64_t position) const {
    return slot(table.blocks()[static_cast<std::size_t>(position / block_tokens_)], position % block_tokens_);
  }
  std::uint64_t* at(const BlockTable& table, std::int64_t position) {
    return slot(table.blocks()[static_cast<std::size_t>(position / block_tokens_)], position % block_tokens_);
  }

  std::uint64_t* window_at(const BlockTable& table, std::int64_t position) const {
    const auto page = static_cast<std::size_t>(position / block_tokens_);
    if (page < table.behind()) return windowed_->slot(0, 0);  // of any
    return windowed_->slot(table.window_blocks()[page], position % block_tokens_);
  }

  struct HostMemory final : std::pmr::memory_resource {
    int left = -1;
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
      if (left == 0) throw std::bad_alloc();
      left -= left > 0 ? 1 : 0;
      return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
      std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
  };

  HostMemory host_memory_;
  std::int64_t block_tokens_;
  std::vector<std::uint64_t> stamps_;
  std::int64_t window_ = 0;
  std::unique_ptr<StampedDevice> windowed_;
};

}  // namespace millrace::kv
