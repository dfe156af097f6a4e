#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/env.h"

namespace millrace::engine {

// Lets engines that share processors compute one after the other, so that none waits for workers that another's keep
// busy: the member that has had the least time goes first, as start-time fair queueing has it (Goyal, Vin and Cheng,
// SIGCOMM 1996) with equal weights. Who was idle has not saved any time up. Thread-safe.
class TurnArbiter {
 public:
  // The member that had a turn is about to want the next one, once its tokens are sampled: where it is owed time, the
  // others wait for it so long.
  static constexpr std::chrono::milliseconds kPatience{2};

  explicit TurnArbiter(Env& env) : env_(env) {}
  TurnArbiter(const TurnArbiter&) = delete;
  TurnArbiter& operator=(const TurnArbiter&) = delete;

  int waiting() const;  // how many want their turn now

  // One of those that take turns. Calls of one come from one thread; ends before its TurnArbiter.
  class Member {
   public:
    explicit Member(TurnArbiter& turn);
    ~Member();
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    void begin();  // waits for its turn; costs a lock where no other wants one
    void end();
    std::int64_t turns() const;   // since it was made
    double milliseconds() const;  // of all of them

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
