#include <algorithm>

#include "engine/engine.h"

namespace millrace::engine {
namespace {

// Of a call, as a request may come meanwhile. The first call after the start moves one page.
constexpr double kCompactionMs = 0.5;
constexpr double kMaxMoves = 64.0;

}  // namespace

// Nothing is launched and nothing can be: what waits, and idle sessions, will be read faster when they go on.
void Engine::compact_pages() {
  if (!needs_compaction()) return;
  std::vector<kv::BlockTable*> tables;
  for (const auto queue : {scheduler_.running(), scheduler_.waiting()}) {
    for (sched::Sequence* sequence : queue) tables.push_back(&sequence->blocks);
  }
  sessions_.collect(tables);
  const TimePoint start = env_.now();
  const auto most = static_cast<std::int32_t>(std::clamp(kCompactionMs / move_ms_per_page_, 1.0, kMaxMoves));
  const std::int32_t moved = cache_.compact(tables, most);
  if (moved == 0) {
    compacted_ = cache_.changes();
  } else {
    move_ms_per_page_ += 0.2 * (milliseconds_between(start, env_.now()) / moved - move_ms_per_page_);
  }
}

KvExtents Engine::kv_extents() const {
  KvExtents runs;
  for (const sched::Sequence* sequence : scheduler_.running()) {
    runs.tokens += sequence->blocks.capacity_tokens();
    runs.contiguous_tokens += sequence->blocks.contiguous_tokens();
    runs.long_extent_tokens += sequence->blocks.long_extent_tokens();
  }
  return runs;
}

}  // namespace millrace::engine
