#pragma once

#include "engine/engine_state.h"

namespace millrace::engine {

// Compaction while the engine has nothing to compute: moves pages of waiting and paused sequences and of idle sessions,
// so that they are read faster later. Engine thread only, while no step is in flight.
class PageCompactor {
 public:
  explicit PageCompactor(EngineState& state) : state_(state) {}

  // Whether compact() may find pages to move.
  bool needed() const noexcept { return compacted_ != state_.cache.changes(); }
  // Moves pages for about 0.5 ms by the measured time of a copy: 1 to 64 of them, 1 at the first call.
  void compact();

 private:
  EngineState& state_;
  double move_ms_per_page_ = 0.5;  // moving average of measured times
  std::uint64_t compacted_ = 0;    // cache.changes() when no page was left to move
};

}  // namespace millrace::engine
