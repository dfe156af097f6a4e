#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kv/page_device.h"

namespace millrace::kv {

// The other ranks that share a model: they have further heads of the same pages. Calls make them do what this rank's
// store does. Where one of them has ended they do nothing, and intact() is false.
class PageRanks {
 public:
  virtual ~PageRanks() = default;
  // Bytes of a page that all of them have together, this rank's aside; `windowed`: of a window page.
  virtual std::size_t page_bytes(bool windowed) const noexcept = 0;
  virtual void copy(bool windowed, BlockId from, BlockId to) = 0;
  virtual bool intact() const noexcept = 0;
  // The number by which they know the store.
  virtual std::uint32_t store() const noexcept = 0;
  // What the others have of the page, page_bytes() bytes.
  virtual void read(bool windowed, BlockId page, std::span<std::byte> out) = 0;
  virtual void write(bool windowed, BlockId page, std::span<const std::byte> in) = 0;
  // The others give back memory as PageDevice::give_back() does: the share [first, end) of all parts, of their own
  // parts. `kept`: ranges of pages, a begin and an end each, that ascend.
  struct Parts {
    std::int32_t first = 0, end = 0, all = 0;
  };
  virtual void give_back(bool windowed, const Parts& parts, std::vector<BlockId> kept) = 0;
};

}  // namespace millrace::kv
