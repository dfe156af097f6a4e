#pragma once

#include <chrono>

#include "comm/communicator.h"

namespace millrace::model {

// How long a rank of a shared model was at a step, and how much of that it waited for others, which the exchanges
// themselves are part of: the rank that waits least is the one that the others wait for.
struct RankTime {
  double ms = 0.0, waited_ms = 0.0;
  RankTime& operator+=(const RankTime& other) noexcept {
    ms += other.ms, waited_ms += other.waited_ms;
    return *this;
  }
};

template <typename Archive>
void visit_fields(Archive& archive, RankTime& t) {
  archive(t.ms, t.waited_ms);
}

// The time of this rank since the timer was made.
class RankTimer {
 public:
  explicit RankTimer(const comm::Communicator& group) noexcept : group_(&group), waited_(group.waited()) {}
  RankTime time() const noexcept {
    using Milliseconds = std::chrono::duration<double, std::milli>;
    return {Milliseconds(Clock::now() - start_).count(), Milliseconds(group_->waited() - waited_).count()};
  }

 private:
  using Clock = std::chrono::steady_clock;
  const comm::Communicator* group_;
  Clock::time_point start_ = Clock::now();
  std::chrono::nanoseconds waited_;
};

}  // namespace millrace::model
