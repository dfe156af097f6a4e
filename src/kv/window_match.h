#pragma once

#include <cstdint>

#include "kv/block_pool.h"
#include "kv/prefix_match.h"
#include "kv/window_pages.h"

namespace millrace::kv {

// Cuts the match to where a sequence could go on: all pages that its next token sees have their window pages. O(pages).
void cut_to_window(PrefixMatch& match, const WindowPages& window, std::int64_t block_tokens);
// Counts the pages of the match that are idle, and those that are behind the window, anew.
void count_idle(PrefixMatch& match, const WindowPages& window, const BlockPool& pages);
// How many tokens a table gets of the match if its first `valid` pages hold what they held: match.tokens, or fewer
// where window pages are gone. Lowers `valid` to the pages of these.
std::int64_t attachable(const PrefixMatch& match, const WindowPages& window, std::int64_t block_tokens,
                        std::size_t& valid);

}  // namespace millrace::kv
