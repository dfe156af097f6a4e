#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "decode/logits_pipeline.h"
#include "decode/noise.h"
#include "decode/stop_matcher.h"

namespace millrace::decode {
namespace {

SamplingParams sampled(double temperature) {
  SamplingParams params;
  params.temperature = temperature;
  return params;
}

TEST(LogitsPipeline, DrawsFromTheSoftmax) {
  const std::array<float, 5> logits = {0.0f, 1.0f, 2.0f, -1.0f, 0.5f};
  LogitsPipeline pipeline(sampled(0.8), 5);
  std::array<double, 5> expected{};
  double total = 0.0;
  for (std::size_t i = 0; i < 5; ++i) total += expected[i] = std::exp(logits[i] / 0.8);
  std::array<int, 5> counts{};
  constexpr int kDraws = 40000;
  for (int i = 0; i < kDraws; ++i) ++counts[static_cast<std::size_t>(*pipeline.sample(logits, i))];
  double chi_square = 0.0;
  for (std::size_t i = 0; i < 5; ++i) {
    const double mean = expected[i] / total * kDraws;
    chi_square += (counts[i] - mean) * (counts[i] - mean) / mean;
  }
  EXPECT_LT(chi_square, 18.47);  // 4 degrees of freedom, p = 0.001; the seed is fixed
}

TEST(LogitsPipeline, TheSamePositionDrawsTheSameTokenWhateverCameBefore) {
  const std::array<float, 4> logits = {0.0f, 0.1f, 0.2f, 0.3f};
  LogitsPipeline a(sampled(1.0), 4), b(sampled(1.0), 4);
  std::vector<std::int32_t> forwards, backwards(100);
  for (int i = 0; i < 100; ++i) forwards.push_back(*a.sample(logits, i));
  for (int i = 99; i >= 0; --i) backwards[static_cast<std::size_t>(i)] = *b.sample(logits, i);
  EXPECT_EQ(forwards, backwards);
}

TEST(LogitsPipeline, TruncationLeavesOnlyTheLikeliest) {
  const std::array<float, 4> logits = {std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)};
  const auto drawn = [&](SamplingParams params) {
    LogitsPipeline pipeline(params, 4);
    std::array<bool, 4> seen{};
    for (int i = 0; i < 2000; ++i) seen[static_cast<std::size_t>(*pipeline.sample(logits, i))] = true;
    return seen;
  };
  SamplingParams top_k = sampled(1.0), top_p = sampled(1.0), min_p = sampled(1.0);
  top_k.top_k = 2;
  top_p.top_p = 0.79;
  min_p.min_p = 0.2;
  EXPECT_EQ(drawn(sampled(1.0)), (std::array<bool, 4>{true, true, true, true}));
  EXPECT_EQ(drawn(top_k), (std::array<bool, 4>{true, true, false, false}));
  EXPECT_EQ(drawn(top_p), (std::array<bool, 4>{true, true, false, false}));
  EXPECT_EQ(drawn(min_p), (std::array<bool, 4>{true, true, true, false}));
}

TEST(LogitsPipeline, RepetitionPenaltyPushesSeenTokensDown) {
  SamplingParams params;
  params.temperature = 0.0;
  params.repetition_penalty = 1.5;
  LogitsPipeline pipeline(params, 3);
  const std::array<float, 3> logits = {3.0f, 2.5f, -1.0f};
  EXPECT_EQ(*pipeline.sample(logits, 0), 0);
  const std::array<std::int32_t, 1> token = {0};
  pipeline.observe(token);
  EXPECT_EQ(*pipeline.sample(logits, 1), 1);
}

TEST(LogitsPipeline, ANotANumberIsAnErrorNotAToken) {
  LogitsPipeline pipeline(sampled(1.0), 3);
  const std::array<float, 3> logits = {0.0f, std::numeric_limits<float>::quiet_NaN(), 1.0f};
  EXPECT_FALSE(pipeline.sample(logits, 0));
}

TEST(LogitsPipeline, GreedyTakesTheFirstOfTheLargestFiniteLogits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  SamplingParams params;
  params.temperature = 0.0;
  for (const std::size_t size : {1u, 7u, 8u, 9u, 64u, 71u}) {
    for (std::size_t at = 0; at < size; ++at) {
      LogitsPipeline pipeline(params, static_cast<std::int64_t>(size));
      std::vector<float> logits(size, -3.0f);
      logits[at] = 2.0f;
      logits.back() = std::max(logits.back(), 2.0f);  // an equal one later
      EXPECT_EQ(*pipeline.sample(logits, 0), static_cast<std::int32_t>(at));
      logits[size / 2] = kInfinity;
      const auto with_infinity = pipeline.sample(logits, 0);
      EXPECT_TRUE(size == 1 || *with_infinity == static_cast<std::int32_t>(at == size / 2 ? size - 1 : at)) << size;
      logits[at] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_FALSE(pipeline.sample(logits, 0).ok());
    }
    LogitsPipeline pipeline(params, static_cast<std::int64_t>(size));
    EXPECT_FALSE(pipeline.sample(std::vector<float>(size, -kInfinity), 0).ok());
  }
}

TEST(SamplingParams, WrongValuesNameTheirField) {
  SamplingParams params;
  params.top_p = std::numeric_limits<double>::quiet_NaN();
  ASSERT_FALSE(params.validate());
  EXPECT_EQ(params.validate().error().param, "top_p");
  params = {};
  params.temperature = -1;
  EXPECT_EQ(params.validate().error().message, "temperature is -1: must be between 0 and 100");
}

TEST(StopMatcher, FindsAStopStringCutAnywhereAndShowsNothingOfIt) {
  const std::string text = "one two STOP three";
  for (std::size_t a = 0; a <= text.size(); ++a) {
    for (std::size_t b = a; b <= text.size(); ++b) {
      StopMatcher matcher({"STOP", "STAY"});
      std::string shown = matcher.push(text.substr(0, a));
      shown += matcher.push(text.substr(a, b - a));
      shown += matcher.push(text.substr(b));
      shown += matcher.finish();
      ASSERT_EQ(shown, "one two ");
      ASSERT_TRUE(matcher.stopped());
    }
  }
}

TEST(StopMatcher, GivesBackAtTheEndWhatWasNoStopString) {
  StopMatcher matcher({"END"});
  EXPECT_EQ(matcher.push("the EN"), "the ");
  EXPECT_EQ(matcher.finish(), "EN");
}

}  // namespace
}  // namespace millrace::decode
