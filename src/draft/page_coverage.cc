#include "draft/page_coverage.h"

#include <algorithm>
#include <cstring>

#include "decode/token_hash.h"

namespace millrace::draft {

std::int64_t PageCoverage::covered(std::span<const std::uint64_t> hashes, std::span<const kv::BlockId> pages) const {
  std::int64_t covered = 0;
  for (const kv::BlockId id : pages) {
    const Page& page = pages_[static_cast<std::size_t>(id)];
    const auto end = static_cast<std::size_t>(covered + page.tokens);
    if (page.tokens == 0 || end >= hashes.size() || hashes[end] != page.hash) break;
    covered += page.tokens;
    if (page.tokens < block_tokens_) break;
  }
  return covered;
}

void PageCoverage::cover(std::span<const std::uint64_t> hashes, std::span<const kv::BlockId> pages, std::int64_t from,
                         std::int64_t to) {
  for (std::int64_t index = from / block_tokens_; index * block_tokens_ < to; ++index) {
    const std::int64_t end = std::min(to, (index + 1) * block_tokens_);
    at(pages[static_cast<std::size_t>(index)]) = {hashes[static_cast<std::size_t>(end)], end - index * block_tokens_};
  }
}

void PageCoverage::read(kv::BlockId page, std::span<std::byte, kBytes> out) const {
  std::memcpy(out.data(), &pages_[static_cast<std::size_t>(page)], kBytes);
}

// From another process, so not taken at its word.
void PageCoverage::write(kv::BlockId page, std::span<const std::byte, kBytes> in) {
  Page known;
  std::memcpy(&known, in.data(), kBytes);
  at(page) = known.tokens >= 0 && known.tokens <= block_tokens_ ? known : Page();
}

void extend_hashes(std::span<const std::int32_t> tokens, std::vector<std::uint64_t>& hashes) {
  if (hashes.empty()) hashes.push_back(0);
  for (std::size_t i = hashes.size() - 1; i < tokens.size(); ++i) {
    hashes.push_back(decode::hash_with(hashes.back(), tokens[i]));
  }
}

}  // namespace millrace::draft
