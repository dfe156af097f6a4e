#include "sched/draft_branches.h"

#include <gtest/gtest.h>

#include <array>

namespace millrace::sched {
namespace {

constexpr StepCost kCost{.fixed_ms = 0.1, .weights_ms = 2.0, .token_ms = 0.25, .kv_token_ms = 0.0, .sample_ms = 0.01};

StepWork decodes(std::int64_t n) { return {.tokens = n, .kv_tokens = n * 100, .samples = n}; }

TEST(DraftBranches, AreComputedWhereTheWeightsTimeHasRoom) {
  const std::vector<double> chain(2, 0.5);
  std::array<BranchOffer, 1> offers{{{.reached = 1.0, .acceptance = chain, .position = 100}}};
  choose_draft_branches(offers, decodes(2), 1.5, kCost);
  EXPECT_EQ(offers[0].length, 2);
}

TEST(DraftBranches, AreNotComputedInAFullBatch) {
  const std::vector<double> chain(4, 0.9);
  std::vector<BranchOffer> offers(16, {.reached = 0.5, .acceptance = chain, .position = 100});
  choose_draft_branches(offers, decodes(16), 16.0, kCost);
  for (const BranchOffer& offer : offers) EXPECT_EQ(offer.length, 0);
}

TEST(DraftBranches, PayForTheTokensTheyShare) {
  const std::vector<double> chain(1, 0.4);
  for (const std::int64_t shared : {0, 6}) {
    std::array<BranchOffer, 1> offers{{{.reached = 1.0, .acceptance = chain, .shared = shared, .position = 100}}};
    choose_draft_branches(offers, decodes(6), 4.0, kCost);  // two more go in at hardly any cost
    EXPECT_EQ(offers[0].length, shared == 0 ? 1 : 0);
  }
}

TEST(DraftBranches, TakeTheLikeliestWhereThereIsRoomForOne) {
  const std::vector<double> chain(1, 0.5);
  std::array<BranchOffer, 2> offers{{{.reached = 0.3, .acceptance = chain}, {.reached = 0.9, .acceptance = chain}}};
  choose_draft_branches(offers, decodes(6), 6.0, kCost);
  EXPECT_EQ(offers[0].length, 0);
  EXPECT_EQ(offers[1].length, 1);
}

TEST(DraftBranches, GoAsFarAsTheirTokensAreWorthIt) {
  const std::vector<double> chain = {0.9, 0.9, 0.01, 0.9, 0.9, 0.9, 0.9};
  std::array<BranchOffer, 1> offers{{{.reached = 0.9, .acceptance = chain}}};
  choose_draft_branches(offers, decodes(5), 2.0, kCost);
  EXPECT_EQ(offers[0].length, 2);
}

}  // namespace
}  // namespace millrace::sched
