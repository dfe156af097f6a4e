#pragma once

#include <cstdint>

#include "engine/time_spent.h"

namespace millrace::engine {

// One answer's TimeSpent in the making; TimeAccounting writes it. Engine thread only.
struct TimeAccount {
  TimePoint mark{};        // all time before it is accounted for
  TimeSpent spent;         // without the current streak, and without `finished`
  std::int64_t lost = 0;   // tokens computed before the last preemption: computing them again is recompute time
  bool preempted = false;  // waits to be admitted again

  // A streak is a run of consecutive steps in each of which the answer had a row of one token. Its time is added to
  // `spent` at its end, from sums that TimeAccounting keeps of its steps. Steps are numbered within an epoch.
  static constexpr std::int32_t kNoStreak = -1;
  std::int32_t streak_begin = kNoStreak, streak_end = 0;  // the step before the streak's first one; its last step
  std::int64_t streak_first = 0;                          // position of the streak's first token
  TimePoint streak_mark{};                                // `mark` when the streak began
  // Adds a row of one token, in the step of that number, to the streak. False if it does not continue one.
  bool continues(TimePoint begin, TimePoint end, std::int32_t step) noexcept {
    if (streak_begin == kNoStreak || mark != begin) return false;
    mark = end;
    streak_end = step;
    return true;
  }
};

}  // namespace millrace::engine
