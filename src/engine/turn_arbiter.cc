#include "engine/turn_arbiter.h"

#include <algorithm>

namespace millrace::engine {

TurnArbiter::Member::Member(TurnArbiter& turn) : turn_(turn) {
  const std::lock_guard lock(turn_.mutex_);
  turn_.members_.push_back(this);
}

TurnArbiter::Member::~Member() {
  {
    const std::lock_guard lock(turn_.mutex_);
    std::erase(turn_.members_, this);
  }
  turn_.wake_.notify_all();
}

int TurnArbiter::waiting() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::ranges::count_if(members_, [](const Member* member) { return member->waiting_; }));
}

// No member computes, and none with an earlier tag wants to, or is about to.
bool TurnArbiter::may_go(const Member& member) const {
  if (holder_ != nullptr) return false;
  return std::ranges::none_of(members_, [&](const Member* other) {
    if (other == &member || other->tag_ms_ >= member.tag_ms_) return false;
    return other->waiting_ || (other->turns_ > 0 && env_.now() - other->ended_ < kPatience);
  });
}

void TurnArbiter::Member::begin() {
  std::unique_lock lock(turn_.mutex_);
  tag_ms_ = std::max(tag_ms_, turn_.clock_ms_);
  waiting_ = true;
  while (!turn_.may_go(*this)) {
    // A computing holder says when it ends; patience ends by itself.
    if (turn_.holder_ != nullptr) {
      turn_.wake_.wait(lock);
    } else {
      turn_.wake_.wait_for(lock, kPatience / 2);
    }
  }
  waiting_ = false;
  turn_.holder_ = this;
  turn_.clock_ms_ = tag_ms_;
  began_ = turn_.env_.now();
}

void TurnArbiter::Member::end() {
  {
    const std::lock_guard lock(turn_.mutex_);
    ended_ = turn_.env_.now();
    const double spent = milliseconds_between(began_, ended_);
    milliseconds_ += spent;
    tag_ms_ += spent;
    ++turns_;
    turn_.holder_ = nullptr;
  }
  turn_.wake_.notify_all();
}

std::int64_t TurnArbiter::Member::turns() const {
  const std::lock_guard lock(turn_.mutex_);
  return turns_;
}

double TurnArbiter::Member::milliseconds() const {
  const std::lock_guard lock(turn_.mutex_);
  return milliseconds_;
}

}  // namespace millrace::engine
