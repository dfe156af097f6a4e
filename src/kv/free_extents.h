#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kv/page_device.h"

namespace millrace::kv {

// Free pages as maximal extents of contiguous pages. Boundary tags join a freed page with the extents beside it in
// O(1); one list for each power of two of length finds a long extent in O(1).
class FreeExtents {
 public:
  explicit FreeExtents(std::int32_t total);

  std::int32_t pages() const noexcept { return pages_; }
  std::int32_t extent_at(BlockId first) const noexcept;  // length of the extent that starts there; 0: none does
  BlockId longest() const noexcept;                      // start of an extent at least half as long as the longest
  BlockId fitting(std::int32_t n) const noexcept;        // start of a short extent of at least n pages, or kNoBlock
  // Takes the pages [first + skip, first + skip + n) out of the extent that starts at `first`.
  void take(BlockId first, std::int32_t skip, std::int32_t n);
  // Makes a page free that is not.
  void give(BlockId page);
  void check_integrity() const;

 private:
  void link(BlockId first, std::int32_t length);
  void unlink(BlockId first);

  std::int32_t pages_ = 0;
  std::uint32_t filled_ = 0;  // bit b: list b is not empty
  std::array<BlockId, 32> lists_;
  std::vector<std::int32_t> length_;  // at the first and last page of a run its length; 0 at each page in use
  std::vector<BlockId> next_, previous_;
};

}  // namespace millrace::kv
