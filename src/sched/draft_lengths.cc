#include "sched/draft_lengths.h"

#include <algorithm>

namespace millrace::sched {
namespace {

struct NextToken {
  double expected = 0.0;  // tokens that it yields
  DraftOffer* offer = nullptr;
  bool operator<(const NextToken& other) const noexcept { return expected < other.expected; }
};

// One more token of that sequence.
StepWork with_token(StepWork work, const DraftOffer& offer) {
  work.add(1, offer.position + offer.length);
  ++work.samples;
  return work;
}

}  // namespace

void choose_draft_lengths(std::span<DraftOffer> offers, const StepWork& work, const StepCost& cost, double round_ms) {
  std::vector<NextToken> heap;
  for (DraftOffer& offer : offers) {
    offer.length = 0;
    if (!offer.acceptance.empty()) heap.push_back({offer.acceptance[0], &offer});
  }
  std::make_heap(heap.begin(), heap.end());
  StepWork chosen = work;
  double yield = static_cast<double>(work.tokens);
  double ms = cost.milliseconds(work);
  std::int64_t rounds = 0;
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end());
    const NextToken next = heap.back();
    heap.pop_back();
    DraftOffer& offer = *next.offer;
    const StepWork with = with_token(chosen, offer);
    const std::int64_t longest = std::max(rounds, offer.length + 1);
    const double with_ms = cost.milliseconds(with) + round_ms * static_cast<double>(longest);
    if (next.expected * ms < kDraftMargin * yield * (with_ms - ms)) continue;  // nor any behind it
    chosen = with;
    yield += next.expected;
    ms = with_ms;
    rounds = longest;
    if (++offer.length == static_cast<std::int64_t>(offer.acceptance.size())) continue;
    heap.push_back({next.expected * offer.acceptance[static_cast<std::size_t>(offer.length)], &offer});
    std::push_heap(heap.begin(), heap.end());
  }
}

}  // namespace millrace::sched
