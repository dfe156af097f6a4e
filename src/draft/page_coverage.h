#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/page_device.h"

namespace millrace::draft {

// Keeps for each page of the target how many of its tokens a second model has keys and values for, and of which text.
// Pages pass from sequence to sequence by sharing, preemption and reuse without notice to the second model, so each
// page has the hash of the whole text up to its last such token. A hash collision costs a rejected draft token. One
// thread.
class PageCoverage {
 public:
  PageCoverage(std::int32_t pages, std::int64_t block_tokens)
      : block_tokens_(block_tokens), pages_(static_cast<std::size_t>(pages)) {}

  // The number of first tokens whose keys and values the pages have; O(pages). hashes[n] is the hash of the first n
  // tokens.
  std::int64_t covered(std::span<const std::uint64_t> hashes, std::span<const kv::BlockId> pages) const;
  // The tokens [from, to) have been computed into the pages.
  void cover(std::span<const std::uint64_t> hashes, std::span<const kv::BlockId> pages, std::int64_t from,
             std::int64_t to);
  void copied(kv::BlockId from, kv::BlockId to) { at(to) = at(from); }
  void forget(kv::BlockId page) { at(page) = {}; }
  // What is known of a page, for its companion.
  static constexpr std::size_t kBytes = 16;
  void read(kv::BlockId page, std::span<std::byte, kBytes> out) const;
  void write(kv::BlockId page, std::span<const std::byte, kBytes> in);

 private:
  struct Page {
    std::uint64_t hash = 0;
    std::int64_t tokens = 0;
  };
  static_assert(sizeof(Page) == kBytes);
  Page& at(kv::BlockId page) { return pages_[static_cast<std::size_t>(page)]; }

  std::int64_t block_tokens_;
  std::vector<Page> pages_;
};

// Appends the hashes of all beginnings of `tokens` that `hashes` does not have yet. `hashes` is empty at first.
void extend_hashes(std::span<const std::int32_t> tokens, std::vector<std::uint64_t>& hashes);

}  // namespace millrace::draft
