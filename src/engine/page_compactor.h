#pragma once

#include "engine/engine_state.h"

namespace millrace::engine {

// Brings pages together while nothing is launched and nothing can be: what waits, and idle sessions, will be read
// faster when they go on. The engine's thread.
class PageCompactor {
 public:
  explicit PageCompactor(EngineState& state) : state_(state) {}

  // Pages may lie apart that compact() would bring together.
  bool needed() const noexcept { return compacted_ != state_.cache.changes(); }
  void compact();  // less than a millisecond's worth of copies

 private:
  EngineState& state_;
  double move_ms_per_page_ = 0.5;  // as measured so far
  std::uint64_t compacted_ = 0;    // cache.changes() when no page was left to move
};

}  // namespace millrace::engine
