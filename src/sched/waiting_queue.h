#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/place.h"

namespace millrace::sched {

// The sequences that wait, by arrival, and, where ranks stay while a sequence waits, by the policy's order too.
class WaitingQueue {
 public:
  explicit WaitingQueue(bool ranks_stay) : ranks_stay_(ranks_stay) {}

  void insert(const Place& place);
  void erase(Sequence& sequence);  // nothing if it does not wait
  // `later` is admitted: counts for all that arrived earlier, wait still and could have been admitted.
  void count_bypassed(const Sequence& later);

  std::span<Sequence* const> by_arrival() const noexcept { return by_arrival_; }
  // The policy's order, the first at the end; empty where ranks change.
  std::span<const Place> by_rank() const noexcept { return by_rank_; }
  bool ranks_stay() const noexcept { return ranks_stay_; }
  // Tokens that those waiting have still to compute.
  std::int64_t tokens() const noexcept { return tokens_; }
  // How often the sequence bypassed most often was bypassed.
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
