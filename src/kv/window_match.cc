#include "kv/window_match.h"

#include <algorithm>
#include <span>

namespace millrace::kv {

void cut_to_window(PrefixMatch& match, const WindowPages& window, std::int64_t block_tokens) {
  std::vector<BlockId> pages = match.pages;
  if (match.partial != kNoBlock) pages.push_back(match.partial);
  const std::int64_t tokens = window.reach(pages, match.tokens);
  if (tokens == match.tokens) return;
  match.pages.resize(static_cast<std::size_t>(tokens / block_tokens));
  match.partial = kNoBlock;
  match.partial_tokens = 0;
  match.tokens = tokens;
}

void count_idle(PrefixMatch& match, const WindowPages& window, const BlockPool& pages) {
  match.idle = match.idle_window = 0;
  match.behind = static_cast<std::int64_t>(std::min(match.pages.size(), window.first_seen(match.tokens)));
  for (std::size_t i = 0; i < match.pages.size(); ++i) {
    match.idle += pages.references(match.pages[i]) == 1 ? 1 : 0;
    const bool seen = static_cast<std::int64_t>(i) >= match.behind;
    match.idle_window += seen && window.holders(match.pages[i]) == 0 ? 1 : 0;
  }
}

std::int64_t attachable(const PrefixMatch& match, const WindowPages& window, std::int64_t block_tokens,
                        std::size_t& valid) {
  const auto pages = std::span(match.pages);
  const std::size_t from = std::min(window.first_seen(match.tokens), valid);
  const auto seen = [&](BlockId page) { return window.of(page) != kNoBlock; };
  if (valid == pages.size() && std::ranges::all_of(pages.subspan(from), seen)) return match.tokens;
  const std::int64_t tokens = window.reach(pages.first(valid), static_cast<std::int64_t>(valid) * block_tokens);
  valid = static_cast<std::size_t>(tokens / block_tokens);
  return tokens;
}

}  // namespace millrace::kv
