#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "kv/page_device.h"

namespace millrace::kv {

class SwapSpace;

// The contents of pages, side by side.
struct PageContents {
  std::vector<std::byte> pages;       // [pages, PageDevice::page_bytes()]
  std::vector<std::byte> companions;  // [pages, PageCompanion::page_bytes]; empty where a page's is not known
};

// Pages in host memory, in order of position: in a swap space, which gets them back when the ticket is destroyed and
// must outlive it, or in memory of the ticket's own, as they came from another process.
class SwapTicket {
 public:
  SwapTicket(PageContents contents, std::size_t page_bytes)
      : contents_(std::move(contents)), own_pages_(static_cast<std::int64_t>(contents_.pages.size() / page_bytes)) {}
  SwapTicket(SwapTicket&& other) noexcept;
  SwapTicket& operator=(SwapTicket&& other) noexcept;
  ~SwapTicket();
  void truncate(std::int64_t pages);  // gives up all but the first so many
  std::int64_t space_pages() const noexcept { return static_cast<std::int64_t>(slots_.size()); }  // of swap space
  std::int64_t pages() const noexcept { return own_pages_ + static_cast<std::int64_t>(slots_.size()); }

 private:
  friend class SwapSpace;
  SwapTicket(SwapSpace& space, std::vector<std::int32_t> slots) : space_(&space), slots_(std::move(slots)) {}
  SwapSpace* space_ = nullptr;  // null: the contents are its own
  std::vector<std::int32_t> slots_;
  PageContents contents_;
  std::int64_t own_pages_ = 0;
};

// Host memory for the pages of preempted sequences, with their companions. Memory is allocated when a slot is first
// used. Engine thread only.
class SwapSpace {
 public:
  // `bytes` is the limit; the device must outlive the space.
  SwapSpace(std::size_t bytes, PageDevice& device);

  std::int64_t total() const noexcept { return static_cast<std::int64_t>(bytes_ / slot_bytes()); }  // pages
  std::int64_t used() const noexcept { return std::ssize(slots_) - std::ssize(free_); }
  // Copies the pages into host memory; nothing where too few slots are free or memory is short.
  std::optional<SwapTicket> store(std::span<const BlockId> pages);
  // Copies the ticket's contents into `pages`, which are as many.
  void load(const SwapTicket& ticket, std::span<const BlockId> pages) const;
  // The contents of the first so many of the ticket's pages.
  PageContents contents(const SwapTicket& ticket, std::size_t pages) const;

 private:
  friend class SwapTicket;
  struct Slot {
    std::span<const std::byte> page, companion;  // the second is empty where it is not known
  };
  Slot slot(const SwapTicket& ticket, std::size_t index) const;
  std::size_t slot_bytes() const noexcept { return page_bytes_ + device_.companion().page_bytes; }

  PageDevice& device_;
  std::size_t bytes_, page_bytes_;
  std::vector<std::pmr::vector<std::byte>> slots_;  // a page and its companion
  std::vector<std::int32_t> free_;                  // has room for all
};

}  // namespace millrace::kv
