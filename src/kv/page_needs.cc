#include "kv/page_needs.h"

#include <algorithm>

namespace millrace::kv {

PageCount at_end(const PagedCache& cache, std::int32_t n) noexcept {
  return {.pages = n, .window = cache.window() != nullptr ? n : 0};
}

PageCount needed(const PagedCache& cache, const PrefixMatch& match, std::int64_t tokens) noexcept {
  const auto pages = static_cast<std::int32_t>(cache.pages_for(tokens));
  const auto held = static_cast<std::int32_t>(match.pages.size());
  PageCount count{.pages = pages - held + match.idle};
  if (cache.window() == nullptr) return count;
  const auto behind = static_cast<std::int32_t>(cache.window()->first_seen(match.tokens));
  count.window = pages - std::max(held, behind) + match.idle_window;
  return count;
}

PageCount needed(const PagedCache& cache, const SwapTicket& ticket, std::int64_t tokens) noexcept {
  const std::int64_t pages = std::max(ticket.pages(), static_cast<std::int64_t>(cache.pages_for(tokens)));
  return {.pages = static_cast<std::int32_t>(pages),
          .window = cache.window() != nullptr ? static_cast<std::int32_t>(pages - ticket.behind()) : 0};
}

PageCount releasable(const PagedCache& cache, const BlockTable& table) {
  PageCount count;
  for (const BlockId block : table.blocks()) count.pages += cache.holders(block) == 1 ? 1 : 0;
  for (std::size_t i = table.behind(); i < table.window_blocks().size(); ++i) {
    count.window += cache.window()->holders(table.blocks()[i]) == 1 ? 1 : 0;
  }
  return count;
}

}  // namespace millrace::kv
