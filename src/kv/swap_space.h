#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kv/page_device.h"

namespace millrace::kv {

class SwapSpace;

// The contents of n pages, side by side, and of the window pages of the last n_window of them.
struct PageContents {
  std::vector<std::byte> pages;       // [n, PageDevice::page_bytes()]
  std::vector<std::byte> companions;  // [n, PageCompanion::page_bytes]; empty where a page's is not known
  std::vector<std::byte> window;      // [n_window, page_bytes() of the windowed device]
  std::int64_t n = 0, n_window = 0;
};

// Pages in host memory, in order of position: in a swap space, which gets them back when the ticket is destroyed and
// must outlive it, or in memory of the ticket's own, as they came from another process.
class SwapTicket {
 public:
  explicit SwapTicket(PageContents contents) : contents_(std::move(contents)) {}
  SwapTicket(SwapTicket&& other) noexcept;
  SwapTicket& operator=(SwapTicket&& other) noexcept;
  ~SwapTicket();
  void truncate(std::int64_t pages);                                        // gives up all but the first so many
  std::int64_t space_pages() const noexcept { return std::ssize(slots_); }  // of swap space
  std::int64_t pages() const noexcept { return contents_.n + std::ssize(slots_); }
  // How many of its first pages lack their window pages.
  std::int64_t behind() const noexcept { return pages() - contents_.n_window - std::ssize(window_slots_); }

 private:
  friend class SwapSpace;
  SwapTicket(SwapSpace& space, std::vector<std::int32_t> slots, std::vector<std::int32_t> window_slots)
      : space_(&space), slots_(std::move(slots)), window_slots_(std::move(window_slots)) {}
  SwapSpace* space_ = nullptr;                      // null: the contents are its own
  std::vector<std::int32_t> slots_, window_slots_;  // of the space's pieces
  PageContents contents_;
};

// Pieces of host memory, which are used again. Memory is allocated when a piece is first used.
class HostPieces {
 public:
  std::int64_t used() const noexcept { return std::ssize(pieces_) - std::ssize(free_); }
  std::size_t allocated() const noexcept { return allocated_; }  // bytes
  // Gets memory for n free pieces of so many bytes. Throws std::bad_alloc.
  void prepare(std::size_t n, std::size_t bytes, std::pmr::memory_resource& memory);
  std::vector<std::int32_t> take(std::size_t n);  // after prepare()
  void give(std::int32_t piece) { free_.push_back(piece); }
  void forget_free();  // gives the memory of free pieces back
  std::span<std::byte> at(std::int32_t piece) { return pieces_[static_cast<std::size_t>(piece)]; }
  std::span<const std::byte> at(std::int32_t piece) const { return pieces_[static_cast<std::size_t>(piece)]; }

 private:
  std::vector<std::pmr::vector<std::byte>> pieces_;
  std::vector<std::int32_t> free_;  // has room for all
  std::size_t allocated_ = 0;
};

// Host memory for the pages of preempted sequences, with their companions and window pages. Engine thread only.
class SwapSpace {
 public:
  // `bytes` is the limit; the device must outlive the space.
  SwapSpace(std::size_t bytes, PageDevice& device);

  std::int64_t used() const noexcept { return pages_.used(); }  // pages
  // Copies the pages and window pages, those of the last pages, into host memory; nothing where too few bytes are free
  // or memory is short.
  std::optional<SwapTicket> store(std::span<const BlockId> pages, std::span<const BlockId> window_pages);
  // Copies the ticket's contents into `pages`, which are as many, and `window_pages`.
  void load(const SwapTicket& ticket, std::span<const BlockId> pages, std::span<const BlockId> window_pages) const;
  // The contents of the first so many of the ticket's pages.
  PageContents contents(const SwapTicket& ticket, std::size_t pages) const;

 private:
  friend class SwapTicket;
  struct Slot {
    std::span<const std::byte> page, companion;  // the second is empty where it is not known
  };
  Slot slot(const SwapTicket& ticket, std::size_t index) const;
  std::span<const std::byte> window_slot(const SwapTicket& ticket, std::size_t index) const;
  std::size_t slot_bytes() const noexcept { return page_bytes_ + device_.companion().page_bytes; }

  PageDevice& device_;
  PageDevice* window_device_;
  std::size_t bytes_, page_bytes_, window_bytes_;
  HostPieces pages_, window_pages_;  // a page and its companion; a window page
};

}  // namespace millrace::kv
