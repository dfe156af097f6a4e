// What sample() samples, position by position, is what distribution() says: chi-square over 20,000 positions for each
// set of parameters, each new sampler in one at least. Noise is a function of the position, so each run is the same.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "base/counter_rng.h"
#include "decode/logits_pipeline.h"
#include "decode/testing/chi_square.h"

namespace millrace::decode {
namespace {

constexpr int kDistributionDraws = 20000;
constexpr std::size_t kDistributionVocab = 40;

std::vector<float> logits_of(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 1.5f);
  std::vector<float> row(kDistributionVocab);
  for (float& x : row) x = normal(random);
  return row;
}

// Draws by `sampled`, expected by `claimed`: the same pipeline, or one with an error in it. Both have said the same.
ChiSquare compare(const SamplingParams& sampled, const SamplingParams& claimed, std::int64_t first = 0) {
  LogitsPipeline sampling(sampled, kDistributionVocab), claiming(claimed, kDistributionVocab);
  const std::vector<std::int32_t> prompt = {1, 2, 3, 4, 1, 2};
  for (LogitsPipeline* p : {&sampling, &claiming}) {
    p->observe(prompt);
    for (const std::int32_t token : {3, 9, 9, 30, 1, 2}) p->accept(token);
  }
  const std::vector<float> row = logits_of(17);
  std::vector<double> expected(kDistributionVocab, 0.0);
  std::vector<int> counts(kDistributionVocab, 0);
  for (std::int64_t position = first; position < first + kDistributionDraws; ++position) {
    ++counts[static_cast<std::size_t>(sampling.sample(row, position).or_throw())];
    for (const auto& [token, p] : claiming.distribution(row, position).or_throw()) {
      expected[static_cast<std::size_t>(token)] += p;  // XTC's coin is the position's
    }
  }
  return chi_square(expected, counts);
}

const std::function<void(SamplingParams&)> kSets[] = {
    [](auto&) {},
    [](auto& p) { p.temperature = 0.6; },
    [](auto& p) { p.temperature = 1.9; },
    [](auto& p) { p.top_k = 7; },
    [](auto& p) { p.top_p = 0.8; },
    [](auto& p) { p.min_p = 0.05; },
    [](auto& p) { p.temperature = 0.8, p.top_k = 30, p.top_p = 0.95, p.min_p = 0.02; },
    [](auto& p) { p.dynatemp_range = 0.7, p.dynatemp_exponent = 1.5; },
    [](auto& p) { p.typical_p = 0.6; },
    [](auto& p) { p.top_n_sigma = 1.2; },
    [](auto& p) { p.xtc_probability = 0.5, p.xtc_threshold = 0.08; },
    [](auto& p) { p.dry_multiplier = 1.0, p.dry_allowed_length = 1; },
    [](auto& p) { p.mirostat_mode = 1, p.mirostat_tau = 1.7; },
    [](auto& p) { p.mirostat_mode = 2, p.mirostat_tau = 1.7; },
    [](auto& p) { p.repetition_penalty = 1.6, p.presence_penalty = 0.4, p.frequency_penalty = 0.3; },
    [](auto& p) { p.repetition_penalty = 1.6, p.repeat_last_n = 3; },
    [](auto& p) { p.no_repeat_ngram_size = 2, p.bad_words = {{30}}, p.logit_bias = {{8, 2.0f}}; },
    [](auto& p) { p.samplers = {"temperature", "top_p"}, p.temperature = 1.7, p.top_p = 0.8, p.top_k = 2; },
    [](auto& p) { p.samplers = {"top_p", "temperature"}, p.temperature = 1.7, p.top_p = 0.8; },
};

TEST(SamplingDistribution, AreThoseOfTheDistribution) {
  for (std::size_t i = 0; i < std::size(kSets); ++i) {
    SamplingParams params;
    params.seed = 100 + i;
    kSets[i](params);
    ASSERT_TRUE(params.validate(kDistributionVocab)) << i;
    const ChiSquare found = compare(params, params);
    EXPECT_TRUE(found.passes()) << "set " << i << ": " << found.statistic << " above " << found.limit;
  }
}

TEST(SamplingDistribution, OfATemperatureWrongByFivePercentFail) {
  SamplingParams right, wrong;
  right.temperature = 1.0;
  wrong.temperature = 1.05;
  EXPECT_FALSE(compare(wrong, right).passes());
  right.typical_p = wrong.typical_p = 0.9;
  EXPECT_FALSE(compare(wrong, right).passes());
}

TEST(SamplingDistribution, OfAnotherOrderFail) {
  SamplingParams a, b;
  a.temperature = b.temperature = 1.7;
  a.top_p = b.top_p = 0.8;
  a.samplers = {"temperature", "top_p"};
  b.samplers = {"top_p", "temperature"};
  EXPECT_FALSE(compare(a, b).passes());
}

// Of each coin's positions alone: neither kind may hide the other's errors.
TEST(SamplingDistribution, OfXtcFollowItsCoin) {
  SamplingParams params, off;
  params.xtc_probability = 0.5;
  params.xtc_threshold = 0.08;
  LogitsPipeline sampling(params, kDistributionVocab), plain(off, kDistributionVocab);
  const std::vector<float> row = logits_of(17);
  const auto whole = plain.distribution(row, 0).or_throw();
  std::vector<double> expected(kDistributionVocab, 0.0);
  std::vector<int> counts(kDistributionVocab, 0);
  int heads = 0;
  for (std::int64_t position = 0; position < 2 * kDistributionDraws; ++position) {
    const bool excluded = sampling.distribution(row, position).or_throw().size() < whole.size();
    heads += excluded;
    if (excluded) continue;
    ++counts[static_cast<std::size_t>(sampling.sample(row, position).or_throw())];
    for (const auto& [token, p] : whole) expected[static_cast<std::size_t>(token)] += p;
  }
  EXPECT_TRUE(chi_square(expected, counts).passes());
  EXPECT_NEAR(heads, kDistributionDraws, 4 * std::sqrt(kDistributionDraws / 2.0));
}

// The surprise of what mirostat samples settles at tau.
TEST(SamplingDistribution, OfMirostatHaveTheSurpriseAskedFor) {
  for (const int mode : {1, 2}) {
    SamplingParams params;
    params.mirostat_mode = mode;
    params.mirostat_tau = 2.5;
    LogitsPipeline pipeline(params, kDistributionVocab);
    double bits = 0.0;
    int n = 0;
    for (std::int64_t position = 0; position < 6000; ++position) {
      const std::vector<float> row = logits_of(static_cast<unsigned>(position));
      const auto distribution = pipeline.distribution(row, position).or_throw();
      const std::vector<TokenProbability> seen(distribution.begin(), distribution.end());
      const std::int32_t token = pipeline.sample(row, position).or_throw();
      pipeline.accept(token);
      if (position < 1000) continue;
      for (const auto& [t, p] : seen) bits -= t == token ? std::log2(p) : 0.0;
      ++n;
    }
    EXPECT_NEAR(bits / n, 2.5, 0.05) << mode;
  }
}

}  // namespace
}  // namespace millrace::decode
