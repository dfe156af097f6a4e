#pragma once

#include <cstdint>

#include "sched/scheduler.h"

namespace millrace::engine {

// How the pages of running sequences lie in memory: attention reads long extents faster. Counts are of token slots.
struct KvExtents {
  std::int64_t tokens = 0;
  std::int64_t contiguous_tokens = 0;   // in pages that are contiguous to the previous one, or the first of a sequence
  std::int64_t long_extent_tokens = 0;  // in extents of at least kv::kLongExtentTokens, or that hold a whole sequence
};
// Engine thread only. O(running sequences).
KvExtents kv_extents(const sched::Scheduler& scheduler);

}  // namespace millrace::engine
