#include "engine/page_compactor.h"

#include <algorithm>

namespace millrace::engine {
namespace {

// Of a call, as a request may come meanwhile. The first call after the start moves one page.
constexpr double kCompactionMs = 0.5;
constexpr double kMaxMoves = 64.0;

}  // namespace

void PageCompactor::compact() {
  if (!needed()) return;
  std::vector<kv::BlockTable*> tables;
  for (const auto queue : {state_.scheduler.running(), state_.scheduler.waiting()}) {
    for (sched::Sequence* sequence : queue) tables.push_back(&sequence->blocks);
  }
  state_.sessions.collect(tables);
  const TimePoint start = state_.env.now();
  const auto most = static_cast<std::int32_t>(std::clamp(kCompactionMs / move_ms_per_page_, 1.0, kMaxMoves));
  const std::int32_t moved = state_.cache.compact(tables, most);
  if (moved == 0) {
    compacted_ = state_.cache.changes();
  } else {
    move_ms_per_page_ += 0.2 * (milliseconds_between(start, state_.env.now()) / moved - move_ms_per_page_);
  }
}

}  // namespace millrace::engine
