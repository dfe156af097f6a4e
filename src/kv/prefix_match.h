#pragma once

#include <cstdint>
#include <vector>

#include "kv/page_device.h"
#include "kv/page_key.h"

namespace millrace::kv {

// What of a sequence's beginning is in published pages. It may be used later: what has gone meanwhile is noticed.
struct PrefixMatch {
  std::vector<BlockId> pages;  // whole pages that fit
  BlockId partial = kNoBlock;  // one more whose first partial_tokens tokens fit: to be copied
  std::int64_t partial_tokens = 0;
  std::vector<PageKey> disk;  // whole pages behind `pages` that the disk tier has, instead of a partial one
  std::int64_t disk_tokens = 0;
  std::int64_t tokens = 0;    // in all
  std::int64_t queried = 0;   // tokens that were looked for
  std::int32_t idle = 0;      // of the pages, those in no table: attaching them lessens available()
  std::uint64_t version = 0;  // of the tree when it was asked
};

}  // namespace millrace::kv
