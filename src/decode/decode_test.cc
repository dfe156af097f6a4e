#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "base/counter_rng.h"
#include "decode/logits_pipeline.h"
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
  const auto kept = [&](SamplingParams params) {
    LogitsPipeline pipeline(params, 4);
    std::array<bool, 4> seen{};
    for (int i = 0; i < 2000; ++i) seen[static_cast<std::size_t>(*pipeline.sample(logits, i))] = true;
    return seen;
  };
  SamplingParams top_k = sampled(1.0), top_p = sampled(1.0), min_p = sampled(1.0);
  top_k.top_k = 2;
  top_p.top_p = 0.79;
  min_p.min_p = 0.2;
  EXPECT_EQ(kept(sampled(1.0)), (std::array<bool, 4>{true, true, true, true}));
  EXPECT_EQ(kept(top_k), (std::array<bool, 4>{true, true, false, false}));
  EXPECT_EQ(kept(top_p), (std::array<bool, 4>{true, true, false, false}));
  EXPECT_EQ(kept(min_p), (std::array<bool, 4>{true, true, true, false}));
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
  LogitsPipeline answering(params, 3);
  answering.accept(0);
  EXPECT_EQ(*answering.sample(logits, 1), 1);
}

std::int32_t greedy(SamplingParams params, std::span<const float> logits, std::span<const std::int32_t> prompt = {},
                    std::span<const std::int32_t> answer = {}, std::span<const std::int32_t> ends = {}) {
  params.temperature = 0.0;
  LogitsPipeline pipeline(params, static_cast<std::int64_t>(logits.size()), ends);
  pipeline.observe(prompt);
  for (const std::int32_t token : answer) pipeline.accept(token);
  const auto token = pipeline.sample(logits, 0);
  return token ? *token : -1;
}
using Tokens = std::vector<std::int32_t>;

TEST(LogitsPipeline, PresenceAndFrequencyCountTheAnswerAndNotThePrompt) {
  const std::array<float, 3> logits = {3.0f, 2.5f, 1.9f};
  SamplingParams presence, frequency;
  presence.presence_penalty = 1.0;
  frequency.frequency_penalty = 0.4;
  EXPECT_EQ(greedy(presence, logits, Tokens{0, 0, 0}), 0);
  EXPECT_EQ(greedy(presence, logits, {}, Tokens{0}), 1);
  EXPECT_EQ(greedy(presence, logits, {}, Tokens{0, 0, 0, 1}), 0);  // 2.0, 1.5, 1.9
  EXPECT_EQ(greedy(frequency, logits, {}, Tokens{0}), 0);          // 2.6
  EXPECT_EQ(greedy(frequency, logits, {}, Tokens{0, 0}), 1);       // 2.2
  EXPECT_EQ(greedy(frequency, logits, {}, Tokens{0, 0, 0, 1, 1}), 2);
}

TEST(LogitsPipeline, BiasMovesATokenAndAllowedTokensAreTheOnlyOnes) {
  const std::array<float, 4> logits = {3.0f, 2.0f, 1.0f, -5.0f};
  SamplingParams params;
  params.logit_bias = {{2, 2.5f}, {0, -100.0f}};
  EXPECT_EQ(greedy(params, logits), 2);
  params.logit_bias = {};
  params.allowed_token_ids = {3, 1, 3};
  EXPECT_EQ(greedy(params, logits), 1);
  params.bad_words = {{1}, {3}};
  EXPECT_EQ(greedy(params, logits), -1);
  LogitsPipeline pipeline(params, 4);
  EXPECT_EQ(pipeline.sample(logits, 7).error().param, "allowed_token_ids");
}

TEST(LogitsPipeline, ABadWordLosesItsLastTokenOnlyBehindItsFirstOnes) {
  const std::array<float, 4> logits = {3.0f, 2.0f, 1.0f, 0.0f};
  SamplingParams params;
  params.bad_words = {{3, 2, 0}};
  EXPECT_EQ(greedy(params, logits), 0);
  EXPECT_EQ(greedy(params, logits, Tokens{3, 2}), 0);  // of the prompt nobody asks
  EXPECT_EQ(greedy(params, logits, {}, Tokens{2}), 0);
  EXPECT_EQ(greedy(params, logits, {}, Tokens{2, 3}), 0);
  EXPECT_EQ(greedy(params, logits, {}, Tokens{1, 3, 2}), 1);
}

TEST(LogitsPipeline, AnAnswerDoesNotEndBeforeItsMinimum) {
  const std::array<float, 4> logits = {3.0f, 2.0f, 1.0f, 0.0f};
  const Tokens ends = {0};
  SamplingParams params;
  params.max_tokens = params.min_tokens = 2;
  params.stop_token_ids = {1};
  EXPECT_EQ(greedy(params, logits, {}, {}, ends), 2);
  EXPECT_EQ(greedy(params, logits, {}, Tokens{3}, ends), 2);
  EXPECT_EQ(greedy(params, logits, {}, Tokens{3, 3}, ends), 0);
}

// Min-p first, as vLLM has it: the nucleus is of what it leaves.
TEST(LogitsPipeline, MinPComesBeforeTopP) {
  const std::array<float, 4> logits = {std::log(0.4f), std::log(0.2f), std::log(0.2f), std::log(0.2f)};
  SamplingParams params = sampled(1.0);
  params.min_p = 0.6;
  params.top_p = 0.5;
  LogitsPipeline pipeline(params, 4);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(*pipeline.sample(logits, i), 0);
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
  EXPECT_EQ(params.validate().error().message, "temperature is -1: must be between 0 and 2");
}

TEST(SamplingParams, EveryFieldIsCheckedAgainstItsLimit) {
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  struct Wrong {
    const char* param;
    void (*set)(SamplingParams&);
  };
  const Wrong cases[] = {
      {"presence_penalty", [](SamplingParams& p) { p.presence_penalty = 2.1; }},
      {"frequency_penalty", [](SamplingParams& p) { p.frequency_penalty = -2.1; }},
      {"max_tokens", [](SamplingParams& p) { p.max_tokens = -1; }},
      {"max_tokens", [](SamplingParams& p) { p.max_tokens = std::int64_t{1} << 31; }},
      {"min_tokens", [](SamplingParams& p) { p.min_tokens = -1; }},
      {"min_tokens", [](SamplingParams& p) { p.min_tokens = p.max_tokens + 1; }},
      {"logprobs", [](SamplingParams& p) { p.logprobs = -1; }},
      {"logprobs", [](SamplingParams& p) { p.logprobs = 21; }},
      {"stop", [](SamplingParams& p) { p.stop = {""}; }},
      {"stop", [](SamplingParams& p) { p.stop.assign(17, "x"); }},
      {"stop_token_ids", [](SamplingParams& p) { p.stop_token_ids = {100}; }},
      {"stop_token_ids", [](SamplingParams& p) { p.stop_token_ids.assign(257, 1); }},
      {"logit_bias", [](SamplingParams& p) { p.logit_bias = {{-1, 1.0f}}; }},
      {"logit_bias", [](SamplingParams& p) { p.logit_bias = {{1, 101.0f}}; }},
      {"logit_bias", [](SamplingParams& p) { p.logit_bias = {{1, std::numeric_limits<float>::quiet_NaN()}}; }},
      {"logit_bias", [](SamplingParams& p) { p.logit_bias.assign(301, {1, 1.0f}); }},
      {"allowed_token_ids", [](SamplingParams& p) { p.allowed_token_ids = {5, 100}; }},
      {"allowed_token_ids", [](SamplingParams& p) { p.allowed_token_ids.assign(101, 1); }},
      {"bad_words", [](SamplingParams& p) { p.bad_words = {{}}; }},
      {"bad_words", [](SamplingParams& p) { p.bad_words = {{1, -1}}; }},
      {"bad_words", [](SamplingParams& p) { p.bad_words = {Tokens(65, 1)}; }},
      {"bad_words", [](SamplingParams& p) { p.bad_words.assign(257, {1}); }},
  };
  for (const Wrong& wrong : cases) {
    SamplingParams params;
    wrong.set(params);
    const auto valid = params.validate(100);
    ASSERT_FALSE(valid) << wrong.param;
    EXPECT_EQ(valid.error().param, wrong.param);
    EXPECT_EQ(valid.error().code, ErrorCode::kInvalidArgument);
  }
  for (double SamplingParams::* field : {&SamplingParams::presence_penalty, &SamplingParams::frequency_penalty}) {
    SamplingParams params;
    params.*field = nan;
    EXPECT_FALSE(params.validate());
  }
  SamplingParams params;
  params.logprobs = 20;
  params.stop_token_ids = params.allowed_token_ids = {99};
  params.logit_bias.assign(300, {99, -100.0f});
  params.bad_words = {{0, 99}};
  EXPECT_TRUE(params.validate(100));
  params.logit_bias.resize(1);
  params.stop_token_ids = {100};
  EXPECT_EQ(params.validate(100).error().message, "token id 100 is outside the vocabulary of 100");
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

TEST(StopMatcher, ShowsTheStopStringIfItIsAskedTo) {
  StopMatcher matcher({"END", "."}, StopMatcher::Shown::kIncluded);
  EXPECT_EQ(matcher.push("the E"), "the ");
  EXPECT_EQ(matcher.push("ND of. it"), "END");
  EXPECT_EQ(matcher.found(), "END");
  EXPECT_EQ(matcher.finish(), "");
}

TEST(StopMatcher, WhatLiesBeforeTheMinimumDoesNotStop) {
  StopMatcher matcher({"ab", "xabc"});
  EXPECT_EQ(matcher.push("ab xab", false), "ab ");  // "xab" may become "xabc"
  EXPECT_EQ(matcher.push("b"), "xabb");             // and holds an "ab" that has passed
  EXPECT_FALSE(matcher.stopped());
  EXPECT_EQ(matcher.push("a", false), "");
  EXPECT_EQ(matcher.push("b."), "");  // ends behind the minimum
  EXPECT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.found(), "ab");
}

TEST(StopMatcher, GivesBackAtTheEndWhatWasNoStopString) {
  StopMatcher matcher({"END"});
  EXPECT_EQ(matcher.push("the EN"), "the ");
  EXPECT_EQ(matcher.finish(), "EN");
}

}  // namespace
}  // namespace millrace::decode
