#include "decode/row_sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "decode/logits_pipeline.h"
#include "decode/testing/random_row.h"

namespace millrace::decode {
namespace {

using Change = std::function<void(SamplingParams&)>;

SamplingParams changed(const Change& change) {
  SamplingParams params;
  params.seed = 11;
  change(params);
  return params;
}

TEST(RowSampling, GivesWhatThePipelineGives) {
  const std::vector<Change> plain = {
      [](SamplingParams&) {},
      [](SamplingParams& p) { p.temperature = 0.0; },
      [](SamplingParams& p) { p.temperature = 0.7; },
      [](SamplingParams& p) { p.top_k = 5; },
      [](SamplingParams& p) { p.top_p = 0.8; },
      [](SamplingParams& p) { p.min_p = 0.1; },
      [](SamplingParams& p) { p.temperature = 1.7, p.top_k = 40, p.top_p = 0.9, p.min_p = 0.02; },
      [](SamplingParams& p) { p.stop = {"x"}, p.stop_token_ids = {3}, p.ignore_eos = true, p.max_tokens = 3; }};
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const SamplingParams params = changed(plain[i]);
    const auto sampling = row_sampling(params);
    ASSERT_TRUE(sampling) << i;
    LogitsPipeline pipeline(params, 300);
    for (std::int64_t position = 0; position < 50; ++position) {
      const auto row = random_row(300, static_cast<unsigned>(position), 3.0f);
      ASSERT_EQ(*sample_row(*sampling, row, position), *pipeline.sample(row, position)) << i << " " << position;
    }
  }
}

TEST(RowSampling, IsNothingWhereMoreDecides) {
  const std::vector<Change> more = {
      [](SamplingParams& p) { p.repetition_penalty = 1.1; },
      [](SamplingParams& p) { p.presence_penalty = 0.1; },
      [](SamplingParams& p) { p.frequency_penalty = 0.1; },
      [](SamplingParams& p) { p.dry_multiplier = 0.5; },
      [](SamplingParams& p) { p.xtc_probability = 0.5; },
      [](SamplingParams& p) { p.typical_p = 0.5; },
      [](SamplingParams& p) { p.top_n_sigma = 1.0; },
      [](SamplingParams& p) { p.dynatemp_range = 0.5; },
      [](SamplingParams& p) { p.mirostat_mode = 2; },
      [](SamplingParams& p) { p.min_tokens = 1; },
      [](SamplingParams& p) { p.logit_bias = {{1, 1.0f}}; },
      [](SamplingParams& p) { p.allowed_token_ids = {1, 2}; },
      [](SamplingParams& p) { p.bad_words = {{1}}; },
      [](SamplingParams& p) { p.no_repeat_ngram_size = 3; },
      [](SamplingParams& p) { p.thinking_budget = ThinkingBudget{.tokens = 1}; },
      [](SamplingParams& p) { p.temperature = 0.5, p.top_k = 5, p.samplers = {"top_k", "temperature"}; }};
  for (std::size_t i = 0; i < more.size(); ++i) EXPECT_FALSE(row_sampling(changed(more[i]))) << i;
}

TEST(RowSampling, RejectsLogitsThatAreNoNumbers) {
  std::vector<float> row(10, 0.0f);
  row[7] = std::numeric_limits<float>::quiet_NaN();
  for (const double temperature : {0.0, 1.0}) {
    EXPECT_EQ(sample_row({.temperature = temperature}, row, 3).error().code, ErrorCode::kInternal);
  }
}

}  // namespace
}  // namespace millrace::decode
