#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/place.h"

namespace millrace::sched {

// The waiting sequences in order of arrival and, if the policy's ranks stay while a sequence waits, in the policy's
// order too. Engine thread only.
class WaitingQueue {
 public:
  explicit WaitingQueue(bool ranks_stay) : ranks_stay_(ranks_stay) {}

  void insert(const Place& place);
  void erase(Sequence& sequence);  // does nothing if it does not wait
  // Adds 1 to `bypassed` of all waiting sequences that arrived before `later`, which is admitted. Paused ones do not
  // count.
  void count_bypassed(const Sequence& later);

  std::span<Sequence* const> by_arrival() const noexcept { return by_arrival_; }
  // In the policy's order, the first one last; empty if ranks do not stay.
  std::span<const Place> by_rank() const noexcept { return by_rank_; }
  bool ranks_stay() const noexcept { return ranks_stay_; }
  // Tokens that the waiting sequences have still to compute.
  std::int64_t tokens() const noexcept { return tokens_; }
  // The highest Sequence::bypassed of all waiting sequences.
  std::int32_t max_bypassed() const noexcept { return max_bypassed_; }

  void check_integrity() const;

 private:
  std::vector<Sequence*> by_arrival_;
  std::vector<Place> by_rank_;
  std::int64_t tokens_ = 0;
  std::int32_t max_bypassed_ = 0;
  bool ranks_stay_;
};

}  // namespace millrace::sched
