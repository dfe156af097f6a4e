// What others build upon: copies, distributions, scores and grammars. How each processor works is in processors/.

#include "decode/logits_pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/counter_rng.h"
#include "decode/gumbel_sample.h"
#include "decode/testing/byte_grammar.h"
#include "decode/testing/random_row.h"

namespace millrace::decode {
namespace {

using Tokens = std::vector<std::int32_t>;

TEST(GumbelSample, IsTheArgmaxOverAllCandidates) {
  for (unsigned round = 0; round < 300; ++round) {
    const std::vector<float> row = random_row(1 + round * 7, round, round % 3 == 0 ? 0.01f : 4.0f);
    Candidates candidates;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i % 5 != 1) candidates.push_back({static_cast<std::int32_t>(i), row[i]});
    }
    for (std::int64_t position = 0; position < 10; ++position) {
      std::int32_t best = -1;
      double best_value = -1e300;
      for (const Candidate& c : candidates) {
        const double u = rng::uniform(7, static_cast<std::uint64_t>(position), static_cast<std::uint64_t>(c.token));
        const double value = static_cast<double>(c.logit) + rng::gumbel(u);
        if (value > best_value) best = c.token, best_value = value;
      }
      ASSERT_EQ(gumbel_sample(candidates, 7, position), best) << round << " " << position;
    }
  }
}

SamplingParams everything() {
  SamplingParams params;
  params.temperature = 1.3;
  params.top_p = 0.97;
  params.top_k = 60;
  params.min_p = 0.01;
  params.repetition_penalty = 1.2;
  params.presence_penalty = 0.5;
  params.frequency_penalty = 0.3;
  params.repeat_last_n = 20;
  params.no_repeat_ngram_size = 3;
  params.bad_words = {{3, 5}, {7}};
  params.logit_bias = {{4, 1.0f}};
  params.mirostat_mode = 0;
  params.seed = 5;
  return params;
}

TEST(LogitsPipeline, ACopyDrawsAsTheOriginalWouldAndLeavesItAlone) {
  const SamplingParams params = everything();
  LogitsPipeline original(params, 100), untouched(params, 100);
  const Tokens prompt = {1, 2, 3, 4};
  original.observe(prompt);
  untouched.observe(prompt);
  for (std::int64_t position = 4; position < 80; ++position) {
    LogitsPipeline copy = original;  // drafts four tokens and is thrown away
    Tokens drafted;
    for (std::int64_t ahead = 0; ahead < 4; ++ahead) {
      const auto row = random_row(100, static_cast<unsigned>(position + ahead));
      drafted.push_back(copy.sample(row, position + ahead).or_throw());
      copy.accept(drafted.back());
    }
    LogitsPipeline again = original;
    for (std::int64_t ahead = 0; ahead < 4; ++ahead) {
      const auto row = random_row(100, static_cast<unsigned>(position + ahead));
      ASSERT_EQ(again.sample(row, position + ahead).or_throw(), drafted[static_cast<std::size_t>(ahead)]);
      again.accept(drafted[static_cast<std::size_t>(ahead)]);
    }
    const auto row = random_row(100, static_cast<unsigned>(position));
    const std::int32_t token = original.sample(row, position).or_throw();
    ASSERT_EQ(token, drafted[0]);
    ASSERT_EQ(token, untouched.sample(row, position).or_throw());
    original.accept(token);
    untouched.accept(token);
  }
}

TEST(LogitsPipeline, TheDistributionSumsToOneAndHasWhatIsDrawn) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    LogitsPipeline pipeline(everything(), 100);
    const auto row = random_row(100, seed);
    const std::int32_t sampled = pipeline.sample(row, seed).or_throw();
    const auto distribution = pipeline.distribution(row, seed).or_throw();
    double sum = 0.0;
    bool found = false;
    for (std::size_t i = 0; i < distribution.size(); ++i) {
      EXPECT_GT(distribution[i].probability, 0.0);
      EXPECT_TRUE(i == 0 || distribution[i - 1].token < distribution[i].token);
      sum += distribution[i].probability;
      found = found || distribution[i].token == sampled;
    }
    EXPECT_NEAR(sum, 1.0, 1e-14);
    EXPECT_TRUE(found);
    EXPECT_LE(distribution.size(), 60u);
  }
}

TEST(LogitsPipeline, TheDistributionOfGreedySamplingIsOneToken) {
  SamplingParams params;
  params.temperature = 0.0;
  params.logit_bias = {{2, 50.0f}};
  LogitsPipeline pipeline(params, 5);
  const auto distribution = pipeline.distribution(std::vector<float>{3, 2, 1, 0, 0}, 0).or_throw();
  ASSERT_EQ(distribution.size(), 1u);
  EXPECT_EQ(distribution[0].token, 2);
  EXPECT_EQ(distribution[0].probability, 1.0);
}

TEST(LogitsPipeline, ScoresAreTheLogSoftmaxBehindPenaltiesAndBeforeTruncation) {
  SamplingParams params;
  params.temperature = 0.1;
  params.top_k = 1;
  params.presence_penalty = 1.0;
  params.bad_words = {{0}};
  LogitsPipeline pipeline(params, 5);
  pipeline.accept(1);
  const std::vector<float> row = {9.0f, 3.0f, 2.5f, 2.0f, -1.0f};
  const double log_sum = std::log(std::exp(2.0) + std::exp(2.5) + std::exp(2.0) + std::exp(-1.0));
  const auto scores = pipeline.scores(row, 1, 10).or_throw();
  const std::int32_t order[] = {2, 1, 3, 4};
  const double logits[] = {2.5, 2.0, 2.0, -1.0};
  ASSERT_EQ(scores.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(scores[i].token, order[i]);
    EXPECT_NEAR(scores[i].logprob, logits[i] - log_sum, 1e-14);
  }
  EXPECT_EQ(pipeline.scores(row, 1, 2).or_throw().size(), 2u);
  EXPECT_EQ(pipeline.scores(row, 1, 2).or_throw()[1].token, 1);  // of two equal ones the lower
  EXPECT_TRUE(pipeline.scores(row, 1, 0).or_throw().empty());
}

TEST(LogitsPipeline, TokensThatDoNotFitTheGrammarAreBannedEverywhere) {
  SamplingParams params;
  std::vector<float> row(70, 0.0f);
  row[0] = row[69] = 50.0f;
  row[2] = 1.0f;
  LogitsPipeline sampling(params, 70, {}, byte_grammar({1, 2, 4}, grammar::kUnlimited));
  for (int i = 0; i < 200; ++i) {
    const std::int32_t token = sampling.sample(row, i).or_throw();
    EXPECT_TRUE(token == 1 || token == 2 || token == 4) << token;
    sampling.accept(token);
  }
  EXPECT_EQ(sampling.distribution(row, 0).or_throw().size(), 3u);
  EXPECT_EQ(sampling.scores(row, 0, 70).or_throw().size(), 3u);
  params.temperature = 0.0;
  LogitsPipeline greedy(params, 70, {}, byte_grammar({1, 2, 4}, 1));
  EXPECT_EQ(greedy.sample(row, 0).or_throw(), 2);
  EXPECT_EQ(LogitsPipeline(params, 70).sample(row, 0).or_throw(), 0);
  std::vector<float> broken = row;
  broken[5] = std::numeric_limits<float>::quiet_NaN();  // not in the grammar, and yet the row is broken
  EXPECT_EQ(greedy.sample(broken, 0).error().code, ErrorCode::kInternal);
  LogitsPipeline copy = greedy;
  greedy.accept(2);
  EXPECT_TRUE(greedy.must_end());
  EXPECT_FALSE(copy.must_end());
  EXPECT_EQ(greedy.sample(row, 1).error().param, "grammar");  // its only end is not among the 70
  EXPECT_EQ(greedy.distribution(row, 1).error().param, "grammar");
  copy.accept(3);
  EXPECT_EQ(copy.sample(row, 1).error().code, ErrorCode::kInternal);  // and never what does not fit
}

}  // namespace
}  // namespace millrace::decode
