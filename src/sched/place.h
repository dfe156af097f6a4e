#pragma once

#include "sched/schedule_policy.h"

namespace millrace::sched {

// A sequence's place in the policy's order. It copies the fields of the sequence that sorting compares, so that sorting
// reads no Sequence.
struct Place {
  Rank rank;
  TimePoint arrival{};
  SequenceId id = 0;
  Sequence* sequence = nullptr;
};

inline Place place_of(Sequence& sequence, const Rank& rank) {
  return {.rank = rank, .arrival = sequence.arrival, .id = sequence.id, .sequence = &sequence};
}

// Whether a goes before b: by group, key, arrival and id, the lower first.
inline bool goes_before(const Place& a, const Place& b) noexcept {
  if (a.rank.group != b.rank.group) return a.rank.group < b.rank.group;
  if (a.rank.key != b.rank.key) return a.rank.key < b.rank.key;
  if (a.arrival != b.arrival) return a.arrival < b.arrival;
  return a.id < b.id;
}

// Whether a arrived before b; of two that arrived at the same time, the one with the lower id did.
inline bool arrived_before(const Sequence& a, const Sequence& b) noexcept {
  return a.arrival != b.arrival ? a.arrival < b.arrival : a.id < b.id;
}
inline bool in_order_of_arrival(const Sequence* a, const Sequence* b) noexcept { return arrived_before(*a, *b); }

}  // namespace millrace::sched
