#pragma once

#include <cstdint>
#include <vector>

#include "kv/page_device.h"

namespace millrace::kv {

// The pages of the KV cache as numbers: which are free, and how many users each of the others has. Host logic only;
// owned by the engine thread. free() + used() == total() always; check_integrity() walks and proves it.
class BlockPool {
 public:
  explicit BlockPool(std::int32_t total);

  std::int32_t total() const noexcept { return static_cast<std::int32_t>(references_.size()); }
  std::int32_t free() const noexcept { return static_cast<std::int32_t>(free_.size()); }
  std::int32_t used() const noexcept { return total() - free(); }

  // Appends n blocks with one reference each to `out`; false, and nothing changed, when fewer are free. They are
  // neighbours where that is possible: first those behind `after` (the page before them in the sequence, or kNoBlock),
  // since a decode step reads neighbours as one stream.
  bool allocate(std::int32_t n, BlockId after, std::vector<BlockId>& out);
  void retain(BlockId block);
  void release(BlockId block);  // frees it when it was the last reference
  std::int32_t references(BlockId block) const { return references_[static_cast<std::size_t>(block)]; }

  void check_integrity() const;

 private:
  std::vector<std::int32_t> references_;
  std::vector<BlockId> free_;  // a heap, smallest on top
};

}  // namespace millrace::kv
