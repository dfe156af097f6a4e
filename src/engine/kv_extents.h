#pragma once

#include <cstdint>

#include "sched/scheduler.h"

namespace millrace::engine {

// How the pages of running sequences lie in memory: decode attention reads long extents faster.
struct KvExtents {
  std::int64_t tokens = 0;
  std::int64_t contiguous_tokens = 0;   // whose page is the neighbour of the one before it, or the first
  std::int64_t long_extent_tokens = 0;  // in runs of at least kv::kLongExtentTokens, or one run in all
};
KvExtents kv_extents(const sched::Scheduler& scheduler);

}  // namespace millrace::engine
