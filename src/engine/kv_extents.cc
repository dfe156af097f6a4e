#include "engine/kv_extents.h"

namespace millrace::engine {

KvExtents kv_extents(const sched::Scheduler& scheduler) {
  KvExtents extents;
  for (const sched::Sequence* sequence : scheduler.running()) {
    extents.tokens += sequence->blocks.capacity_tokens();
    extents.contiguous_tokens += sequence->blocks.contiguous_tokens();
    extents.long_extent_tokens += sequence->blocks.long_extent_tokens();
  }
  return extents;
}

}  // namespace millrace::engine
