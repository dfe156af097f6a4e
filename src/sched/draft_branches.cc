#include "sched/draft_branches.h"

#include <algorithm>
#include <iterator>

#include "sched/draft_lengths.h"

namespace millrace::sched {
namespace {

StepWork with_branch(StepWork work, const BranchOffer& offer, std::int64_t length) {
  const std::int64_t rows = 1 + offer.shared + length;
  work.add(rows, offer.position);
  work.samples += rows;
  return work;
}

// What the whole of it is expected to bring for each token that it takes.
double density(const BranchOffer& offer) {
  double expected = offer.reached, sum = 0.0;
  for (const double rate : offer.acceptance) sum += expected *= rate;
  return sum / static_cast<double>(1 + offer.shared + std::ssize(offer.acceptance));
}

}  // namespace

void choose_draft_branches(std::span<BranchOffer> offers, StepWork work, double yield, const StepCost& cost) {
  std::vector<std::pair<double, BranchOffer*>> order;
  for (BranchOffer& offer : offers) {
    offer.length = 0;
    if (!offer.acceptance.empty()) order.emplace_back(density(offer), &offer);
  }
  std::ranges::stable_sort(order, std::ranges::greater(), &std::pair<double, BranchOffer*>::first);
  double ms = cost.milliseconds(work);
  for (const auto& [per_token, offer] : order) {
    double expected = offer->reached * offer->acceptance[0], gain = expected;
    std::int64_t length = 1;
    double with_ms = cost.milliseconds(with_branch(work, *offer, length));
    while (length < std::ssize(offer->acceptance)) {
      expected *= offer->acceptance[static_cast<std::size_t>(length)];
      const double longer_ms = cost.milliseconds(with_branch(work, *offer, length + 1));
      if (expected * ms < kDraftMargin * yield * (longer_ms - with_ms)) break;
      gain += expected;
      with_ms = longer_ms;
      ++length;
    }
    if (gain * ms < kDraftMargin * yield * (with_ms - ms)) continue;
    offer->length = length;
    work = with_branch(work, *offer, length);
    yield += gain;
    ms = with_ms;
  }
}

}  // namespace millrace::sched
