// Prompts that are read, on the fake model: with whatever pages, budget, depth and preemption every row is read once.

#include <gtest/gtest.h>

#include <fmt/core.h>

#include <cmath>
#include <map>
#include <random>

#include "base/memory_env.h"
#include "decode/token_scorer.h"
#include "engine/engine.h"
#include "simulator/fake_executor.h"
#include "text/blank_tokenizer.h"

namespace millrace::simulator {
namespace {

using engine::Output;
using engine::Request;

constexpr std::int64_t kVocabulary = 61;

Request random_request(std::mt19937& random) {
  Request r;
  const std::size_t shared = random() % 60, own = 1 + random() % 30;
  std::mt19937 root(random() % 3);
  for (std::size_t i = 0; i < shared; ++i) r.tokens.push_back(static_cast<std::int32_t>(root() % kVocabulary));
  for (std::size_t i = 0; i < own; ++i) r.tokens.push_back(static_cast<std::int32_t>(random() % kVocabulary));
  r.sampling.seed = random();
  r.sampling.max_tokens = 1 + static_cast<std::int64_t>(random() % 40);
  r.expected_tokens = 1;  // a lie: so that more are admitted than can end
  r.priority = static_cast<int>(random() % 3);
  switch (random() % 4) {
    case 0: r.prompt_logprobs = 2; break;
    case 1:
      r.prompt_logprobs = 0;
      r.sampling.max_tokens = 0;
      break;
    case 2:
      r.embed = true;
      r.pooling = random() % 2 == 0 ? engine::Pooling::kMean : engine::Pooling::kLast;
      break;
    default: r.sampling.logprobs = 3;
  }
  return r;
}

std::vector<decode::TokenScore> reference(const Request& request) {
  decode::TokenScorer scorer;
  std::vector<decode::TokenScore> scores;
  for (std::size_t n = 1; request.prompt_logprobs && n < request.tokens.size(); ++n) {
    const auto row = fake_logits(std::span(request.tokens).first(n), kVocabulary);
    scores.push_back(*scorer.score(row, request.tokens[n], *request.prompt_logprobs));
  }
  return scores;
}

// The state of a row is made of the same hash as its logits; lengths aside, the mean is its sum.
std::vector<float> reference_embedding(const Request& request) {
  if (!request.embed) return {};
  const std::size_t n = request.tokens.size();
  std::vector<double> sum(FakeExecutor::kStateSize, 0.0);
  for (std::size_t row = request.pooling == engine::Pooling::kMean ? 1 : n; row <= n; ++row) {
    const auto state = fake_logits(std::span(request.tokens).first(row), FakeExecutor::kStateSize);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(state[i]);
  }
  double squares = 0.0;
  for (const double x : sum) squares += x * x;
  const double scale = 1.0 / std::sqrt(squares);
  std::vector<float> embedding;
  for (const double x : sum) embedding.push_back(static_cast<float>(x * scale));
  return embedding;
}

class FakeScores : public testing::TestWithParam<int> {};

TEST_P(FakeScores, EveryPromptIsReadWholeAndOnce) {
  std::mt19937 random(static_cast<unsigned>(GetParam()) + 2000);
  const std::int64_t blocks[] = {1, 8, 16, 32};
  FakeExecutor::Config executor;
  executor.vocab_size = kVocabulary;
  executor.block_tokens = blocks[random() % 4];
  executor.pages = static_cast<std::int32_t>((140 + random() % 300) / executor.block_tokens + 3);
  executor.depth = 1 + static_cast<int>(random() % 2);
  engine::Config config;
  config.scheduling.max_batched_tokens = 1 + static_cast<std::int64_t>(random() % 60);
  config.scheduling.max_sequences = 3 + static_cast<std::int64_t>(random() % 20);
  config.policy = random() % 2 == 0 ? "priority" : "decode-first";
  config.prefix_caching = random() % 4 != 0;
  config.swap_bytes = random() % 2 == 0 ? 1 << 16 : 0;
  config.preemption = static_cast<engine::Preemption>(random() % 3);
  MemoryEnv env;
  auto tick = [&](const model::BatchInput&, std::span<float>) -> Result<void> {
    env.time += std::chrono::milliseconds(5);
    return {};
  };
  const auto served = engine::Engine::create(std::make_unique<FakeExecutor>(executor, tick),
                                             text::blank_tokenizer(kVocabulary), env, config)
                          .or_throw();
  std::map<engine::RequestId, Request> requests;
  std::map<engine::RequestId, std::vector<decode::TokenScore>> prompts;
  std::size_t ended = 0;
  for (int steps = 0; requests.size() < 40 || !served->idle(); ++steps) {
    ASSERT_LT(steps, 20000) << "no progress";
    if (requests.size() < 40 && random() % 3 == 0) {
      const Request r = random_request(random);
      requests.emplace(served->submit(r).or_throw(), r);
    }
    for (Output& output : served->step()) {
      const Request& request = requests.at(output.request);
      ASSERT_FALSE(output.error) << output.error->message;
      ASSERT_EQ(output.score.has_value(), output.token && request.sampling.logprobs);
      if (output.score) {
        ASSERT_EQ(output.score->chosen.token, *output.token);
      }
      if (!output.prompt_scores.empty()) {
        ASSERT_TRUE(prompts.emplace(output.request, std::move(output.prompt_scores)).second);
      }
      if (!output.last) continue;
      ++ended;
      ASSERT_EQ(prompts[output.request], reference(request));
      ASSERT_EQ(output.embedding, reference_embedding(request));
    }
    served->check_integrity();
  }
  EXPECT_EQ(ended, 40u);
  EXPECT_EQ(served->cache().use().used, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, FakeScores, testing::Range(0, 40));

}  // namespace
}  // namespace millrace::simulator
