#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/engine_state.h"

namespace millrace::engine {

// What an engine without requests keeps in memory, and for how long (docs/adr/026).
struct IdleMemoryConfig {
  double free_seconds = 15.0;  // of idleness, until the memory of free pages is given back
  // Cached prefixes beyond `cached_bytes` are evicted after this time, or after so many times the time that computing
  // all of them again would take, whichever is longer.
  double cached_seconds = 30.0, recompute_times = 5.0;
  std::size_t cached_bytes = std::size_t{8} << 20;
};

// Gives memory of keys and values back while no request needs it. Changes no answer: free pages are written before they
// are read, and evicted prefixes are computed again. Engine thread only.
class IdleMemory {
 public:
  explicit IdleMemory(EngineState& state) : state_(state) {}

  void configure(const IdleMemoryConfig& config) noexcept { config_ = config; }
  // Works for at most about 0.5 ms, as a request may come meanwhile. `idle_seconds`: since the last request. No step
  // may be in flight. Returns whether there is more to do now.
  bool work(double idle_seconds);

 private:
  bool evict(double idle_seconds);

  EngineState& state_;
  IdleMemoryConfig config_;
  std::int32_t part_ = 0;  // the next one to give back
  // cache.changes() when the giving back under way began, and when the last one did that was finished.
  std::optional<std::uint64_t> started_, given_back_;
};

}  // namespace millrace::engine
