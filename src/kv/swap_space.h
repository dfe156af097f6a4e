#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "kv/page_device.h"

namespace millrace::kv {

class SwapSpace;

// Pages in host memory, in order of position: in a swap space, which gets them back when the ticket is destroyed and
// must outlive it, or in memory of the ticket's own, as they came from another process.
class SwapTicket {
 public:
  // [pages, page_bytes] side by side.
  SwapTicket(std::vector<std::byte> contents, std::size_t page_bytes)
      : contents_(std::move(contents)), own_pages_(static_cast<std::int64_t>(contents_.size() / page_bytes)) {}
  SwapTicket(SwapTicket&& other) noexcept;
  SwapTicket& operator=(SwapTicket&& other) noexcept;
  ~SwapTicket();
  std::int64_t space_pages() const noexcept { return static_cast<std::int64_t>(slots_.size()); }  // of swap space
  std::int64_t pages() const noexcept { return own_pages_ + static_cast<std::int64_t>(slots_.size()); }

 private:
  friend class SwapSpace;
  SwapTicket(SwapSpace& space, std::vector<std::int32_t> slots) : space_(&space), slots_(std::move(slots)) {}
  SwapSpace* space_ = nullptr;  // null: the contents are its own
  std::vector<std::int32_t> slots_;
  std::vector<std::byte> contents_;
  std::int64_t own_pages_ = 0;
};

// Host memory for the contents of pages whose sequences were preempted. Memory is taken as it is first used.
class SwapSpace {
 public:
  // For pages of that device, which must outlive it, in its host memory.
  SwapSpace(std::size_t bytes, PageDevice& device);

  std::int64_t total() const noexcept { return total_; }
  std::int64_t used() const noexcept { return total_ - static_cast<std::int64_t>(free_.size()); }
  // Copies the pages; an empty optional where fewer slots are free or memory is short.
  std::optional<SwapTicket> store(std::span<const BlockId> pages);
  void load(const SwapTicket& ticket, std::span<const BlockId> pages) const;
  // The contents of the first so many of the ticket's pages, side by side.
  std::vector<std::byte> contents(const SwapTicket& ticket, std::size_t pages) const;

 private:
  friend class SwapTicket;
  std::span<const std::byte> page(const SwapTicket& ticket, std::size_t index) const;

  PageDevice& device_;
  std::size_t page_bytes_;
  std::int64_t total_;
  std::vector<std::pmr::vector<std::byte>> slots_;
  std::vector<std::int32_t> free_;
};

}  // namespace millrace::kv
