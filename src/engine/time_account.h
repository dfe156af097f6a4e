#pragma once

#include <cstdint>

#include "engine/time_spent.h"

namespace millrace::engine {

// What is known of where an answer's time went; see TimeAccounting.
struct TimeAccount {
  TimePoint mark{};        // accounted for until then
  TimeSpent spent;         // but `finished`
  std::int64_t lost = 0;   // tokens that were in its pages when it was last preempted: those are computed again
  bool preempted = false;  // and not yet back

  // The last rows, as far as each was one sampled token and followed at once on the one before: not yet in `spent`, as
  // the sums over those steps say what they come to. Steps are numbers of the accounting's epoch.
  static constexpr std::int32_t kNoStreak = -1;
  std::int32_t streak_begin = kNoStreak, streak_end = 0;  // the step before the first of them; the last of them
  std::int64_t streak_first = 0;                          // position of the first of those tokens
  TimePoint streak_mark{};                                // accounted for until then
  // A row of one token in the step of that number: whether that goes on with a streak, which has it now.
  bool continues(TimePoint begin, TimePoint end, std::int32_t step) noexcept {
    if (streak_begin == kNoStreak || mark != begin) return false;
    mark = end;
    streak_end = step;
    return true;
  }
};

}  // namespace millrace::engine
