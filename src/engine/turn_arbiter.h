#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/env.h"

namespace millrace::engine {

// Lets engines that share processors compute one at a time, so that their worker threads do not compete. The member
// with the least computing time goes first: start-time fair queueing with equal weights (Goyal, Vin and Cheng, SIGCOMM
// 1996). Idle time earns no credit. Thread-safe.
class TurnArbiter {
 public:
  // A member that has just computed usually wants the next turn as soon as its tokens are sampled. If it is owed time,
  // the others wait for it this long.
  static constexpr std::chrono::milliseconds kPatience{2};

  explicit TurnArbiter(Env& env) : env_(env) {}
  TurnArbiter(const TurnArbiter&) = delete;
  TurnArbiter& operator=(const TurnArbiter&) = delete;

  int waiting() const;  // members in begin() that have no turn yet

  // One of the engines. One thread at a time uses it. It must not outlive its TurnArbiter.
  class Member {
   public:
    explicit Member(TurnArbiter& turn);
    ~Member();
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    void begin();  // waits for the turn; without competition the cost is one lock
    void end();
    std::int64_t turns() const;   // number of turns so far
    double milliseconds() const;  // total time of its turns

   private:
    friend class TurnArbiter;
    TurnArbiter& turn_;
    // Under the lock.
    std::int64_t turns_ = 0;
    double milliseconds_ = 0.0;
    double tag_ms_ = 0.0;  // where its next turn begins on the clock that all turns share
    bool waiting_ = false;
    TimePoint began_{}, ended_{};  // the last turn
  };

 private:
  bool may_go(const Member& member) const;

  Env& env_;
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable wake_;
  std::vector<Member*> members_;
  const Member* holder_ = nullptr;
  double clock_ms_ = 0.0;  // the tag of the turn that began last
};

}  // namespace millrace::engine
