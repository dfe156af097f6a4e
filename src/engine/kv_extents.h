#pragma once

#include <cstdint>

#include "sched/scheduler.h"

namespace millrace::engine {

// How the pages of running sequences lie in memory, counted in tokens. Decode attention reads long extents faster.
struct KvExtents {
  std::int64_t tokens = 0;
  std::int64_t contiguous_tokens = 0;  // in pages that follow in memory on the sequence's page before, or are its first
  // In extents of at least kv::kLongExtentTokens tokens, or of sequences that are one extent.
  std::int64_t long_extent_tokens = 0;
};
// O(pages of running sequences). Engine thread only.
KvExtents kv_extents(const sched::Scheduler& scheduler);

}  // namespace millrace::engine
