#include "loadtest/upcoming_sessions.h"

#include <algorithm>
#include <utility>

namespace millrace::loadtest {

UpcomingSessions::UpcomingSessions(const Workload& workload, const RequestStyle& style, std::uint64_t first,
                                   std::uint64_t count)
    : workload_(workload), style_(style), next_(first), left_(count) {}

UpcomingSessions::Upcoming UpcomingSessions::make() {
  --left_;
  Upcoming made;
  made.index = next_++;
  if (const auto known = workload_.sessions()) made.index %= std::max<std::uint64_t>(*known, 1);
  made.session = workload_.session(made.index);
  made.body = request_body(style_, {}, made.session.turns.front());
  return made;
}

bool UpcomingSessions::make_one() {
  if (left_ == 0 || made_.size() >= kAhead || bytes_ >= kBytes) return false;
  bytes_ += made_.emplace_back(make()).body.size();
  return true;
}

UpcomingSessions::Upcoming UpcomingSessions::take() {
  if (made_.empty()) return make();
  Upcoming taken = std::move(made_.front());
  made_.pop_front();
  bytes_ -= taken.body.size();
  return taken;
}

}  // namespace millrace::loadtest
