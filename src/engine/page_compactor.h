#pragma once

#include "engine/engine_state.h"

namespace millrace::engine {

// Moves the pages of paused and waiting requests and of idle sessions into long extents while the engine has nothing to
// compute, because decode attention reads those faster. Engine thread only, while no step is launched.
class PageCompactor {
 public:
  explicit PageCompactor(EngineState& state) : state_(state) {}

  // Whether compact() may have something to move.
  bool needed() const noexcept { return compacted_ != state_.cache.changes(); }
  void compact();  // moves pages for about half a millisecond

 private:
  EngineState& state_;
  double move_ms_per_page_ = 0.5;  // as measured so far
  std::uint64_t compacted_ = 0;    // cache.changes() when no page was left to move
};

}  // namespace millrace::engine
