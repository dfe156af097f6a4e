#pragma once

#include <array>
#include <cstdint>

#include "base/env.h"

namespace millrace::server::observe {

// The work of the steps of about the last kSeconds seconds, summed in slots of one second. One thread at a time.
class RecentWork {
 public:
  static constexpr std::int64_t kSeconds = 10;
  // Time of steps, bytes that they read, and arithmetic operations.
  struct Sum {
    double seconds = 0.0, bytes = 0.0, operations = 0.0;
  };

  // Adds work that ended at `when`; times must not go back by more than kSeconds.
  void add(TimePoint when, const Sum& work) noexcept {
    Slot& slot = slots_[static_cast<std::size_t>(second(when) % kSeconds)];
    if (slot.second != second(when)) slot = {.second = second(when)};
    slot.sum.seconds += work.seconds;
    slot.sum.bytes += work.bytes;
    slot.sum.operations += work.operations;
  }
  Sum sum(TimePoint now) const noexcept {
    Sum all;
    for (const Slot& slot : slots_) {
      if (slot.second <= second(now) - kSeconds) continue;
      all.seconds += slot.sum.seconds;
      all.bytes += slot.sum.bytes;
      all.operations += slot.sum.operations;
    }
    return all;
  }

 private:
  struct Slot {
    std::int64_t second = -kSeconds;
    Sum sum{};
  };
  static std::int64_t second(TimePoint time) noexcept {
    return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
  }
  std::array<Slot, kSeconds> slots_{};
};

}  // namespace millrace::server::observe
