#include "decode/token_scorer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "decode/logits_pipeline.h"
#include "decode/row_statistics.h"
#include "decode/testing/random_row.h"

namespace millrace::decode {
namespace {

constexpr float kNever = std::numeric_limits<float>::infinity();

double exact_log_sum(const std::vector<float>& row) {
  double sum = 0.0;
  const double largest = *std::ranges::max_element(row);
  for (const float x : row) sum += std::exp(static_cast<double>(x) - largest);
  return largest + std::log(sum);
}

TEST(TokenScorer, IsTheLogSoftmaxOfFloat64) {
  TokenScorer scorer;
  for (const std::size_t n : {1u, 2u, 15u, 255u, 256u, 257u, 5000u, 49152u}) {
    for (const float spread : {0.01f, 1.0f, 4.0f, 60.0f}) {
      const std::vector<float> row = random_row(n, static_cast<unsigned>(n), spread);
      const double log_sum = exact_log_sum(row);
      for (const std::size_t token : {std::size_t{0}, n / 2, n - 1}) {
        const auto score = scorer.score(row, static_cast<std::int32_t>(token), 3);
        ASSERT_TRUE(score);
        const double exact = static_cast<double>(row[token]) - log_sum;
        EXPECT_NEAR(score->chosen.logprob, exact, 1e-6 + 6e-8 * std::abs(exact)) << n << " " << spread;
        EXPECT_LE(score->chosen.logprob, 0.0f);
      }
    }
  }
}

// Sorting the vocabulary says the same, ties by id.
TEST(TokenScorer, ListsTheLikeliestAndRanksAsASortWould) {
  TokenScorer scorer;
  for (const std::size_t n : {1u, 5u, 300u, 5000u, 40000u}) {
    for (const bool ties : {false, true}) {
      std::vector<float> row = random_row(n, 7, 2.0f);
      if (ties) {
        for (float& x : row) x = std::round(x);
      }
      std::vector<std::int32_t> order(n);
      std::iota(order.begin(), order.end(), 0);
      std::ranges::stable_sort(order, [&](std::int32_t a, std::int32_t b) {
        return row[static_cast<std::size_t>(a)] > row[static_cast<std::size_t>(b)];
      });
      for (const int top : {0, 1, 5, 20}) {
        const std::int32_t token = order[n / 3];
        const float logit = row[static_cast<std::size_t>(token)];
        const auto score = scorer.score(row, token, top);
        ASSERT_EQ(score->top.size(), std::min<std::size_t>(static_cast<std::size_t>(top), n));
        for (std::size_t i = 0; i < score->top.size(); ++i) ASSERT_EQ(score->top[i].token, order[i]) << n << " " << top;
        EXPECT_EQ(score->rank, 1 + std::ranges::count_if(row, [=](float x) { return x > logit; }));
      }
    }
  }
}

TEST(TokenScorer, TheGreedyTokenHasTheLogprobOfTheFirstBitForBit) {
  TokenScorer scorer;
  SamplingParams params;
  params.temperature = 0.0;
  for (unsigned seed = 0; seed < 50; ++seed) {
    const std::vector<float> row = random_row(3000 + seed, seed, 0.1f + static_cast<float>(seed));
    LogitsPipeline pipeline(params, static_cast<std::int64_t>(row.size()));
    const auto score = scorer.score(row, *pipeline.sample(row, 0), 5);
    EXPECT_EQ(score->chosen, score->top.front());
    EXPECT_EQ(score->rank, 1);
  }
}

TEST(TokenScorer, InfiniteLogitsAreImpossibleTokensAndANaNSpoilsTheRow) {
  TokenScorer scorer;
  std::vector<float> row = random_row(1000, 1, 1.0f), finite = row;
  row[3] = kNever;
  row[900] = -kNever;
  finite[3] = finite[900] = -1e30f;
  EXPECT_EQ(scorer.score(row, 3, 0)->chosen.logprob, -kNever);
  EXPECT_EQ(scorer.score(row, 3, 0)->rank, 999);
  const auto some = scorer.score(row, 500, 20), same = scorer.score(finite, 500, 20);
  EXPECT_EQ(*some, *same);
  for (const std::size_t at : {0u, 511u, 999u}) {
    std::vector<float> broken = row;
    broken[at] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(scorer.score(broken, 5, 5)) << at;
  }
  EXPECT_FALSE(scorer.score(std::vector<float>(700, -kNever), 5, 5));
}

TEST(RowStatistics, EveryInstructionSetComputesTheSameBits) {
  const RowKernels scalar = row_kernels(Isa::kScalar);
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512Vnni}) {
    if (!has_isa(isa)) continue;
    const RowKernels kernels = row_kernels(isa);
    for (unsigned seed = 0; seed < 200; ++seed) {
      std::vector<float> block = random_row(kScoreBlock, seed, 0.01f * static_cast<float>(1u << (seed % 14)));
      if (seed % 5 == 0) block[seed] = seed % 2 == 0 ? kNever : -kNever;
      if (seed % 7 == 0) block[seed] = std::numeric_limits<float>::quiet_NaN();
      bool nan = false, expected_nan = false;
      const float largest = kernels.largest_of_block(block.data(), nan);
      EXPECT_EQ(largest, scalar.largest_of_block(block.data(), expected_nan));
      EXPECT_EQ(nan, expected_nan);
      EXPECT_EQ(nan, seed % 7 == 0);
      std::int64_t larger = 0, expected_larger = 0;
      const float mass = kernels.mass_of_block(block.data(), largest, block[9], larger);
      const float expected = scalar.mass_of_block(block.data(), largest, block[9], expected_larger);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(mass), std::bit_cast<std::uint32_t>(expected))
          << to_string(isa) << " " << seed;
      EXPECT_EQ(larger, expected_larger);
    }
  }
}

}  // namespace
}  // namespace millrace::decode
