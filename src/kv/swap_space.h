#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "kv/page_device.h"

namespace millrace::kv {

class SwapSpace;

// Copies of pages in host memory, in order of position; frees them when destroyed. The space must outlive it.
class SwapTicket {
 public:
  SwapTicket(SwapTicket&& other) noexcept;
  SwapTicket& operator=(SwapTicket&& other) noexcept;
  ~SwapTicket();
  std::int64_t pages() const noexcept { return static_cast<std::int64_t>(slots_.size()); }

 private:
  friend class SwapSpace;
  SwapTicket(SwapSpace& space, std::vector<std::int32_t> slots) : space_(&space), slots_(std::move(slots)) {}
  SwapSpace* space_;
  std::vector<std::int32_t> slots_;
};

// Host memory for the pages of preempted sequences. Memory is allocated when a slot is first used. Engine thread only.
class SwapSpace {
 public:
  // `bytes` is the limit; the device must outlive the space.
  SwapSpace(std::size_t bytes, PageDevice& device);

  std::int64_t total() const noexcept { return total_; }
  std::int64_t used() const noexcept { return total_ - static_cast<std::int64_t>(free_.size()); }
  // Copies the pages into host memory; nothing where too few slots are free or memory is short.
  std::optional<SwapTicket> store(std::span<const BlockId> pages);
  // Copies the ticket's contents into `pages`, which are as many.
  void load(const SwapTicket& ticket, std::span<const BlockId> pages) const;

 private:
  friend class SwapTicket;
  PageDevice& device_;
  std::size_t page_bytes_;
  std::int64_t total_;
  std::vector<std::pmr::vector<std::byte>> slots_;
  std::vector<std::int32_t> free_;
};

}  // namespace millrace::kv
