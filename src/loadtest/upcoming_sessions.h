#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "loadtest/request_body.h"
#include "loadtest/workload.h"

namespace millrace::loadtest {

// The sessions of a run in order, with the bodies of their first requests made ahead of time: writing the JSON of
// 32,000 ids takes about a millisecond, in which nothing else would be sent.
class UpcomingSessions {
 public:
  struct Upcoming {
    std::uint64_t index = 0;
    Session session;
    std::string body;
  };

  // Sessions [first, first + count) of the workload, or round and round where it has fewer.
  UpcomingSessions(const Workload& workload, const RequestStyle& style, std::uint64_t first, std::uint64_t count);

  bool empty() const noexcept { return made_.empty() && left_ == 0; }
  std::uint64_t left() const noexcept { return made_.size() + left_; }
  Upcoming take();  // not if empty(); makes it now if none is ready
  // One more ahead. False: there are enough, or all are made.
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
