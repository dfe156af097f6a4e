#pragma once

#include <cstdint>
#include <vector>

#include "kv/page_device.h"
#include "kv/page_key.h"

namespace millrace::kv {

// The published pages that hold the beginning of a sequence. It stays valid across steps: attach() notices evicted
// pages.
struct PrefixMatch {
  std::vector<BlockId> pages;  // full pages
  BlockId partial = kNoBlock;  // a page whose first partial_tokens tokens match and that must be copied; kNoBlock: none
  std::int64_t partial_tokens = 0;
  // Full pages after `pages` that the disk tier has; if there are any, there is no partial page.
  std::vector<PageKey> disk;
  std::int64_t disk_tokens = 0;
  std::int64_t tokens = 0;       // matched in all
  std::int64_t queried = 0;      // tokens that were looked up
  std::int32_t idle = 0;         // of `pages`, those in no table: attaching them lowers available()
  std::int32_t idle_window = 0;  // of those whose window pages the next token sees, those whose no table needs
  std::int64_t behind = 0;       // of `pages`, the first ones, whose window pages the next token does not see
  std::uint64_t version = 0;     // of the tree at the time of the match
};

}  // namespace millrace::kv
