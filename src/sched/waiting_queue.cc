#include "sched/waiting_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace millrace::sched {
namespace {

bool goes_after(const Place& a, const Place& b) noexcept { return goes_before(b, a); }

}  // namespace

void WaitingQueue::insert(const Place& place) {
  Sequence* sequence = place.sequence;
  by_arrival_.insert(std::upper_bound(by_arrival_.begin(), by_arrival_.end(), sequence, in_order_of_arrival), sequence);
  if (ranks_stay_) by_rank_.insert(std::upper_bound(by_rank_.begin(), by_rank_.end(), place, goes_after), place);
  sequence->queued_tokens = sequence->remaining();
  tokens_ += sequence->queued_tokens;
  max_bypassed_ = std::max(max_bypassed_, sequence->bypassed);
}

void WaitingQueue::erase(Sequence& sequence) {
  const auto found = std::lower_bound(by_arrival_.begin(), by_arrival_.end(), &sequence, in_order_of_arrival);
  if (found == by_arrival_.end() || *found != &sequence) return;
  by_arrival_.erase(found);
  if (ranks_stay_) {
    // From the end, where those are that are admitted.
    const auto line = std::find_if(by_rank_.rbegin(), by_rank_.rend(),
                                   [&](const Place& place) { return place.sequence == &sequence; });
    by_rank_.erase(std::next(line).base());
  }
  tokens_ -= std::exchange(sequence.queued_tokens, 0);
  if (sequence.bypassed > 0 && sequence.bypassed == max_bypassed_) {
    max_bypassed_ = 0;
    for (const Sequence* one : by_arrival_) max_bypassed_ = std::max(max_bypassed_, one->bypassed);
  }
}

void WaitingQueue::count_bypassed(const Sequence& later) {
  for (Sequence* sequence : by_arrival_) {
    if (!arrived_before(*sequence, later)) return;
    if (sequence->paused) continue;
    max_bypassed_ = std::max(max_bypassed_, ++sequence->bypassed);
  }
}

void WaitingQueue::check_integrity() const {
  CHECK(std::is_sorted(by_arrival_.begin(), by_arrival_.end(), in_order_of_arrival));
  CHECK(std::is_sorted(by_rank_.begin(), by_rank_.end(), goes_after));
  CHECK_EQ(by_rank_.size(), ranks_stay_ ? by_arrival_.size() : 0);
  std::int64_t tokens = 0;
  std::int32_t most = 0;
  for (std::size_t i = 0; i < by_arrival_.size(); ++i) {
    const Sequence& sequence = *by_arrival_[i];
    CHECK(i == 0 || arrived_before(*by_arrival_[i - 1], sequence));
    CHECK(sequence.state == SequenceState::kWaiting);
    CHECK_EQ(sequence.in_flight, 0);
    CHECK_EQ(sequence.unseen, 0);
    CHECK_EQ(sequence.scheduled, sequence.computed);
    CHECK_LT(sequence.scheduled, sequence.length());
    tokens += sequence.queued_tokens;
    most = std::max(most, sequence.bypassed);
  }
  for (const Place& place : by_rank_) {
    CHECK(std::binary_search(by_arrival_.begin(), by_arrival_.end(), place.sequence, in_order_of_arrival));
  }
  CHECK_EQ(tokens, tokens_);
  CHECK_EQ(most, max_bypassed_);
}

}  // namespace millrace::sched
