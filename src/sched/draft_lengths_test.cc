#include "sched/draft_lengths.h"

#include <gtest/gtest.h>

#include <array>

namespace millrace::sched {
namespace {

constexpr StepCost kLengthsCost{
    .fixed_ms = 0.1, .weights_ms = 2.0, .token_ms = 0.25, .kv_token_ms = 0.0, .sample_ms = 0.01};

double yield_a_ms(std::span<const DraftOffer> offers, StepWork work, double round_ms) {
  double tokens = static_cast<double>(work.tokens);
  std::int64_t rounds = 0;
  for (const DraftOffer& offer : offers) {
    double expected = 1.0;
    for (std::int64_t j = 0; j < offer.length; ++j) {
      expected *= offer.acceptance[static_cast<std::size_t>(j)];
      tokens += expected;
      work.add(1, offer.position + j);
      ++work.samples;
    }
    rounds = std::max(rounds, offer.length);
  }
  return tokens / (kLengthsCost.milliseconds(work) + round_ms * static_cast<double>(rounds));
}

StepWork work_of(std::int64_t n) { return {.tokens = n, .kv_tokens = n * 100, .samples = n}; }

TEST(DraftLengths, GoAsFarAsTheWeightsTimeHasRoomAndAFewMoreWhereTheyAreSure) {
  const std::vector<double> sure(32, 0.98), doubtful(32, 0.3);
  std::array<DraftOffer, 1> offers{{{.acceptance = sure, .position = 100}}};
  choose_draft_lengths(offers, work_of(1), kLengthsCost);
  EXPECT_GE(offers[0].length, 7);  // eight tokens take the time of the weights
  offers[0].acceptance = doubtful;
  choose_draft_lengths(offers, work_of(1), kLengthsCost);
  EXPECT_GE(offers[0].length, 1);
  EXPECT_LE(offers[0].length, 7);
}

TEST(DraftLengths, AreZeroInAFullBatch) {
  const std::vector<double> likely(8, 0.8);
  std::vector<DraftOffer> offers(32, {.acceptance = likely, .position = 100});
  choose_draft_lengths(offers, work_of(32), kLengthsCost);
  for (const DraftOffer& offer : offers) EXPECT_EQ(offer.length, 0);
}

TEST(DraftLengths, GoToTheLikeliestSequencesFirst) {
  const std::vector<double> likely(8, 0.9), unlikely(8, 0.05);
  std::array<DraftOffer, 2> offers{{{.acceptance = unlikely, .position = 9}, {.acceptance = likely, .position = 9}}};
  choose_draft_lengths(offers, work_of(2), kLengthsCost);
  EXPECT_GT(offers[1].length, offers[0].length);
}

TEST(DraftLengths, AreZeroWhereDraftingCostsMoreThanItYields) {
  const std::vector<double> likely(8, 0.8);
  std::array<DraftOffer, 1> offers{{{.acceptance = likely, .position = 100}}};
  choose_draft_lengths(offers, work_of(1), kLengthsCost, 3.0);
  EXPECT_EQ(offers[0].length, 0);
}

TEST(DraftLengths, AreWithinTheMarginOfTheBestOfAll) {
  const std::array<std::vector<double>, 2> acceptance{
      {{0.9, 0.8, 0.7, 0.6, 0.9, 0.9}, {0.6, 0.5, 0.95, 0.9, 0.9, 0.9}}};
  for (const std::int64_t others : {2, 4, 6, 8, 12}) {
    for (const double round_ms : {0.0, 0.1, 0.4}) {
      std::array<DraftOffer, 2> offers{{{.acceptance = acceptance[0], .position = 50}, {.acceptance = acceptance[1]}}};
      double best = 0.0;
      for (offers[0].length = 0; offers[0].length <= 6; ++offers[0].length) {
        for (offers[1].length = 0; offers[1].length <= 6; ++offers[1].length) {
          best = std::max(best, yield_a_ms(offers, work_of(others), round_ms));
        }
      }
      choose_draft_lengths(offers, work_of(others), kLengthsCost, round_ms);
      EXPECT_GE(yield_a_ms(offers, work_of(others), round_ms), best / kDraftMargin) << others << " " << round_ms;
    }
  }
}

}  // namespace
}  // namespace millrace::sched
