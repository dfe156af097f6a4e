#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/env.h"

namespace millrace::engine {

// Lets engines that share processors compute one after the other, so that none waits for processors that another uses.
// The member that has had the least time goes first: start-time fair queueing with equal weights (Goyal, Vin and Cheng,
// SIGCOMM 1996). A member does not accumulate time while it is idle. Thread-safe.
class TurnArbiter {
 public:
  // After its turn a member samples tokens and then wants the next turn. If it has had less time than the others, they
  // wait this long for it.
  static constexpr std::chrono::milliseconds kPatience{2};

  explicit TurnArbiter(Env& env) : env_(env) {}
  TurnArbiter(const TurnArbiter&) = delete;
  TurnArbiter& operator=(const TurnArbiter&) = delete;

  int waiting() const;  // number of members that wait in begin()

  // A participant. One thread calls begin() and end(), which must alternate. The arbiter must outlive it.
  class Member {
   public:
    explicit Member(TurnArbiter& turn);
    ~Member();
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    void begin();  // waits for its turn; takes only a lock if no other member wants one
    void end();
    std::int64_t turns() const;   // number of turns so far
    double milliseconds() const;  // their time in all

   private:
    friend class TurnArbiter;
    TurnArbiter& turn_;
    // Guarded by the arbiter's mutex_.
    std::int64_t turns_ = 0;
    double milliseconds_ = 0.0;
    double tag_ms_ = 0.0;  // start tag of its next turn, in virtual time
    bool waiting_ = false;
    TimePoint began_{}, ended_{};  // the last turn
  };

 private:
  bool may_go(const Member& member) const;

  Env& env_;
  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable wake_;
  std::vector<Member*> members_;
  const Member* holder_ = nullptr;
  double clock_ms_ = 0.0;  // virtual time: the start tag of the turn that began last
};

}  // namespace millrace::engine
