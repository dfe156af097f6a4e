#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "loadtest/request_body.h"
#include "loadtest/workload.h"

namespace millrace::loadtest {

// The sessions of a run in order, with the bodies of their first requests prepared ahead of time: writing the JSON of
// 32,000 ids takes about a millisecond, which would delay other requests.
class UpcomingSessions {
 public:
  struct Upcoming {
    std::uint64_t index = 0;
    Session session;
    std::string body;
  };

  // The sessions [first, first + count) of the workload, repeated from its beginning if it has fewer.
  UpcomingSessions(const Workload& workload, const RequestStyle& style, std::uint64_t first, std::uint64_t count);

  bool empty() const noexcept { return made_.empty() && left_ == 0; }
  std::uint64_t left() const noexcept { return made_.size() + left_; }
  Upcoming take();  // not if empty(); prepares a session if none is ready
  // Prepares one more session. False: enough are ready, or all are.
  bool make_one();

 private:
  static constexpr std::size_t kAhead = 1024, kBytes = 64 << 20;
  Upcoming make();

  const Workload& workload_;
  const RequestStyle& style_;
  std::uint64_t next_, left_;
  std::deque<Upcoming> made_;
  std::size_t bytes_ = 0;  // of the bodies made
};

}  // namespace millrace::loadtest
