#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <span>

namespace millrace::kv {

using BlockId = std::int32_t;
inline constexpr BlockId kNoBlock = -1;

// What a drafter keeps beside each page (docs/draft.md). It travels with the page's contents to host memory and to
// other engines, where those keep the same.
struct PageCompanion {
  std::uint64_t key = 0;       // of what writes it, the same in all processes; 0: none is kept
  std::size_t page_bytes = 0;  // beside one page
  bool operator==(const PageCompanion&) const = default;
};

// The memory behind page numbers: a page holds the keys and values of its tokens in all layers, those with a window
// aside where they have a device of their own. Calls take effect in order and before the next step of the model. Engine
// thread only, and never while a step runs.
class PageDevice {
 public:
  virtual ~PageDevice() = default;
  virtual std::size_t page_bytes() const noexcept = 0;  // may be 0 where all layers have a window
  virtual void copy(BlockId from, BlockId to) = 0;
  virtual void read(BlockId page, std::span<std::byte> out) const = 0;  // out has page_bytes() bytes
  // False where the contents of pages have been lost, by a device that has parts elsewhere: what read() gave is not
  // theirs. It stays so until the device has been recovered, and all pages are written anew.
  virtual bool intact() const noexcept { return true; }
  // `in` has page_bytes() bytes.
  virtual void write(BlockId page, std::span<const std::byte> in) = 0;
  // The memory of the layers with a window, by window page (kv/window_pages.h), which has no companion and no device
  // within; null: none has one, or theirs is in pages like that of all. The same for the device's life.
  virtual PageDevice* windowed() noexcept { return nullptr; }
  // None on devices that keep nothing beside pages; it stays the same while there are contents of pages elsewhere. read
  // and write take companion().page_bytes bytes; write() of the page comes first.
  virtual PageCompanion companion() const noexcept { return {}; }
  virtual void read_companion(BlockId /*page*/, std::span<std::byte> /*out*/) const {}
  virtual void write_companion(BlockId /*page*/, std::span<const std::byte> /*in*/) {}
  // The page is free now. A device for tests overwrites its contents, to find reads after this.
  virtual void freed(BlockId /*page*/) {}
  // The pages [first, first + n) were handed out, and a further table would begin at `next` (kNoBlock: nowhere). A
  // device may get memory ready for them.
  virtual void taken(BlockId /*first*/, std::int32_t /*n*/, BlockId /*next*/) {}
  // The memory of pages for which `kept` is false is given back to the system, in so many parts; the contents of those
  // pages are lost. 0: this device keeps its memory.
  virtual std::int32_t memory_parts() const noexcept { return 0; }
  virtual void give_back(std::int32_t /*part*/, const std::function<bool(BlockId)>& /*kept*/) {}
  // Memory for copies of pages on the host, for example pinned memory.
  virtual std::pmr::memory_resource& host_memory() noexcept { return *std::pmr::new_delete_resource(); }
};

}  // namespace millrace::kv
