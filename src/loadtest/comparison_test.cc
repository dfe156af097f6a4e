#include "loadtest/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace millrace::loadtest {
namespace {

using Kind = MetricVerdict::Kind;

// Rounds on a machine whose speed wanders, with noise of each run about it; B's latency is `effect` times A's.
std::vector<ComparedRound> simulate(int count, double effect, double noise, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<ComparedRound> rounds;
  double machine = 1.0;
  for (int i = 0; i < count; ++i) {
    machine *= std::exp(noise / 2 * normal(random));
    ComparedRound round{.order = i % 2 == 0 ? "AB" : "BA", .noise = "quiet"};
    round.a.emplace_back("median_ttft_ms", 100.0 * machine * std::exp(noise * normal(random)));
    round.b.emplace_back("median_ttft_ms", 100.0 * effect * machine * std::exp(noise * normal(random)));
    rounds.push_back(std::move(round));
  }
  return rounds;
}

// The share of 300 seeds with one of the verdicts.
double share_of(std::initializer_list<Kind> kinds, int rounds, double effect, double noise) {
  int count = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Kind kind = compare(simulate(rounds, effect, noise, seed), 3.0).verdicts.at(0).kind;
    count += std::find(kinds.begin(), kinds.end(), kind) != kinds.end() ? 1 : 0;
  }
  return count / 300.0;
}

TEST(Comparison, WhereThereIsNoDifferenceItSeldomRanks) {
  for (const int rounds : {5, 6, 8, 12, 20}) {
    for (const double noise : {0.005, 0.02, 0.05, 0.20}) {
      const double wrong = share_of({Kind::kWorse, Kind::kBetter}, rounds, 1.0, noise);
      EXPECT_LT(wrong, 0.06) << rounds << " rounds, noise " << noise;
    }
  }
}

TEST(Comparison, TenPercentSlowerIsFoundInTwoPercentNoise) {
  EXPECT_GT(share_of({Kind::kWorse}, 8, 1.10, 0.02), 0.95);
  EXPECT_GT(share_of({Kind::kBetter}, 8, 1 / 1.10, 0.02), 0.95);
  const Comparison found = compare(simulate(8, 1.10, 0.02, 1), 3.0);
  EXPECT_TRUE(found.regression());
  EXPECT_EQ(to_string(found.kind), "regression");
  EXPECT_NEAR(found.verdicts[0].ratio.value, 1.10, 0.03);
}

TEST(Comparison, ThreePercentInTwentyPercentNoiseIsUndecided) {
  EXPECT_GT(share_of({Kind::kUndecided}, 8, 1.03, 0.20), 0.94);
  const Comparison open = compare(simulate(8, 1.03, 0.20, 1), 3.0);
  EXPECT_EQ(open.verdicts[0].kind, Kind::kUndecided);
  EXPECT_EQ(to_string(open.kind), "undecided");
}

TEST(Comparison, NoDifferenceInLittleNoiseIsEqual) {
  EXPECT_GT(share_of({Kind::kEqual}, 8, 1.0, 0.005), 0.99);
  const Comparison equal = compare(simulate(8, 1.0, 0.005, 1), 3.0);
  EXPECT_EQ(to_string(equal.kind), "no regression");
  EXPECT_FALSE(equal.regression());
}

TEST(Comparison, AChangeSmallerThanTheNoiseOfASideIsNotRanked) {
  // Every round says B is 10 % slower, but a side differs by 60 % from round to round: no order is worth much there.
  std::vector<ComparedRound> rounds;
  for (int i = 0; i < 8; ++i) {
    const double machine = i % 2 == 0 ? 100.0 : 160.0;
    rounds.push_back({"AB", {{"p99_ttft_ms", machine}}, {{"p99_ttft_ms", 1.1 * machine}}, "noisy"});
  }
  const Comparison comparison = compare(rounds, 3.0);
  EXPECT_EQ(comparison.verdicts[0].kind, Kind::kUndecided);
  EXPECT_NEAR(comparison.verdicts[0].noise_ratio, 1.6, 1e-9);
  EXPECT_NE(comparison.verdicts[0].why.find("differs from itself"), std::string::npos);
}

TEST(Comparison, AChangeBelowTheThresholdIsNotWorse) {
  std::vector<ComparedRound> rounds;
  for (int i = 0; i < 8; ++i) {
    rounds.push_back({"AB", {{"median_itl_ms", 100.0 + 0.01 * i}}, {{"median_itl_ms", 102.0 + 0.02 * i}}, "quiet"});
  }
  EXPECT_EQ(compare(rounds, 3.0).verdicts[0].kind, Kind::kEqual);
  EXPECT_EQ(compare(rounds, 1.0).verdicts[0].kind, Kind::kWorse);
}

TEST(Comparison, ThroughputIsBetterWhereItIsHigher) {
  std::vector<ComparedRound> rounds;
  for (int i = 0; i < 6; ++i) {
    rounds.push_back({"AB", {{"output_throughput", 100.0 + i % 2}}, {{"output_throughput", 120.0 + i % 2}}, "quiet"});
  }
  const Comparison comparison = compare(rounds, 3.0);
  EXPECT_EQ(comparison.verdicts[0].kind, Kind::kBetter);
  EXPECT_EQ(comparison.verdicts[0].unit, "tok/s");
  EXPECT_EQ(to_string(comparison.verdicts[0].kind), "B better");
}

TEST(Comparison, FewRoundsRankNothingHoweverFarApart) {
  std::vector<ComparedRound> rounds(4, {"AB", {{"median_ttft_ms", 100.0}}, {{"median_ttft_ms", 300.0}}, "quiet"});
  EXPECT_EQ(compare(rounds, 3.0).verdicts[0].kind, Kind::kUndecided);
  rounds.push_back(rounds[0]);
  EXPECT_EQ(compare(rounds, 3.0).verdicts[0].kind, Kind::kWorse);
}

TEST(Comparison, AServerThatHasNoMetricInARoundIsNeverFineThere) {
  const ComparedRound round{
      "AB", {{"x_ms", 1.0}, {"request_goodput", 5.0}}, {{"x_ms", 1.0}, {"request_goodput", 5.0}}, "quiet"};
  std::vector<ComparedRound> rounds(6, round);
  EXPECT_EQ(compare(rounds, 3.0).kind, Comparison::Kind::kNoRegression);
  rounds[3].b.pop_back();
  EXPECT_EQ(compare(rounds, 3.0).verdicts[1].kind, Kind::kUndecided);
  EXPECT_EQ(compare(rounds, 3.0).kind, Comparison::Kind::kUndecided);
  rounds[3].b.emplace_back("request_goodput", 0.0);
  EXPECT_EQ(compare(rounds, 3.0).kind, Comparison::Kind::kUndecided);
  EXPECT_TRUE(std::isnan(compare(rounds, 3.0).verdicts[1].ratio.value));
  rounds[2].b.emplace_back("only_b_ms", 1.0);
  EXPECT_EQ(compare(rounds, 3.0).verdicts.at(2).metric, "only_b_ms");
  EXPECT_EQ(compare({}, 3.0).kind, Comparison::Kind::kUndecided);
}

TEST(Comparison, WhatIsZeroOnBothSidesIsEqual) {
  const std::vector<ComparedRound> rounds(6, {"AB", {{"request_goodput", 0.0}}, {{"request_goodput", 0.0}}, "quiet"});
  EXPECT_EQ(compare(rounds, 3.0).kind, Comparison::Kind::kNoRegression);
}

}  // namespace
}  // namespace millrace::loadtest
