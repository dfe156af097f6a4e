#pragma once

#include <cstdint>

#include "base/result.h"
#include "kv/paged_cache.h"

namespace millrace::kv {

// The sequence whose pages these are goes on after `tokens` of its tokens, or at its beginning where its window would
// see window pages that the ticket lacks: the ticket is cut to these. Returns them.
std::int64_t rewind(const PagedCache& cache, SwapTicket& ticket, std::int64_t tokens);
// kInvalidArgument where the contents are not those of the pages of so many tokens, or lack what their window sees.
Result<void> check_contents(const PagedCache& cache, const PageContents& contents, std::int64_t tokens);

}  // namespace millrace::kv
