#pragma once

#include <cstdint>

#include "kv/paged_cache.h"

namespace millrace::kv {

// What operations of a cache take of its room(), and give back to it.

// n pages that a table gets at its end: each has a window page where layers have a window.
PageCount at_end(const PagedCache& cache, std::int32_t n) noexcept;
// What attach() takes at most so that the table may grow to `tokens` >= match.tokens tokens: idle pages of the match,
// pages that are loaded or copied, and those behind them.
PageCount needed(const PagedCache& cache, const PrefixMatch& match, std::int64_t tokens) noexcept;
// What swap_in() takes so that the table may grow to `tokens` tokens.
PageCount needed(const PagedCache& cache, const SwapTicket& ticket, std::int64_t tokens) noexcept;
// By how much room() would grow if the table released all its pages: the number of those in no other table, and of
// window pages that no other needs.
PageCount releasable(const PagedCache& cache, const BlockTable& table);

}  // namespace millrace::kv
