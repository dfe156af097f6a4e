#pragma once

#include <cstdint>

#include "engine/time_spent.h"

namespace millrace::engine {

// State of TimeAccounting for one answer.
struct TimeAccount {
  TimePoint mark{};        // time is accounted until here
  TimeSpent spent;         // so far; `finished` is not set yet
  std::int64_t lost = 0;   // computed tokens at its preemptions, at most: rows before this position are computed again
  bool preempted = false;  // preempted and not admitted again

  // A streak is a series of rows of one token in successive steps. It is not in `spent` yet: TimeAccounting::close()
  // adds it from sums over these steps. Steps are numbered within an epoch of TimeAccounting.
  static constexpr std::int32_t kNoStreak = -1;
  std::int32_t streak_begin = kNoStreak, streak_end = 0;  // the step before its first; its last step
  std::int64_t streak_first = 0;                          // position of its first token
  TimePoint streak_mark{};                                // start of its first step
  // Adds a row of one token in step `step` to the streak, if it follows at once. False if it does not.
  bool continues(TimePoint begin, TimePoint end, std::int32_t step) noexcept {
    if (streak_begin == kNoStreak || mark != begin) return false;
    mark = end;
    streak_end = step;
    return true;
  }
};

}  // namespace millrace::engine
