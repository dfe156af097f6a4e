// Loads on a real engine with a small model.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "backend/testing/test_backend.h"
#include "engine/load/latency_run.h"
#include "engine/load/text_evaluation.h"
#include "engine/load/throughput_run.h"
#include "engine/local_executor.h"
#include "model/make_spec.h"
#include "text/blank_tokenizer.h"

namespace millrace::engine::load {
namespace {

const std::string kModel = std::string(MILLRACE_TEST_DATA) + "/../golden/tiny/llama";

class EngineLoad : public testing::Test {
 protected:
  EngineLoad()
      : checkpoint_(checkpoint::open_checkpoint(Env::system(), kModel).or_throw()),
        backend_(std::make_unique<backend::TimedBackend>(backend::make_test_backend(2))),
        transformer_(*checkpoint_, model::make_spec(*checkpoint_).or_throw(), *backend_, {.max_length = 256}) {}

  std::unique_ptr<engine::Engine> make(std::int64_t kv_tokens) {
    return engine::Engine::create(
               engine::LocalExecutor::create(transformer_, *backend_, backend::KvFormat{}, kv_tokens).or_throw(),
               text::blank_tokenizer(vocabulary()), Env::system(),
               {.scheduling = {.max_batched_tokens = 64, .max_sequences = 16}})
        .or_throw();
  }
  decode::Perplexity scored(std::span<const std::int32_t> tokens, const TextLoad& load) {
    return evaluate_text({transformer_, *backend_}, nullptr, tokens, load).perplexity;
  }
  std::int64_t vocabulary() const { return transformer_.spec().vocab_size; }

  std::unique_ptr<checkpoint::Checkpoint> checkpoint_;
  std::unique_ptr<backend::TimedBackend> backend_;
  model::Transformer transformer_;
};

TEST_F(EngineLoad, LatencyIsPrefillAndOneStepForEachFurtherToken) {
  for (const std::int64_t batch : {1, 3}) {
    const LatencyLoad load{.batch = batch, .prompt_tokens = 40, .output_tokens = 9};
    const auto engine = make(kv_tokens(load, 32));
    const LatencySample sample = run_latency(*engine, *backend_, vocabulary(), load);
    EXPECT_EQ(sample.decode_steps, 8);
    EXPECT_GT(sample.outside_ms, 0.0);
    EXPECT_GT(sample.tpot_ms, sample.outside_ms);
    EXPECT_GT(sample.ttft_ms, 0.0);
    EXPECT_LE(sample.ttft_ms, sample.prefill_ms * 1.000001);
    EXPECT_NEAR(sample.latency_ms, sample.prefill_ms + 8 * sample.tpot_ms, 1e-6 * sample.latency_ms);
    if (batch == 1) {
      EXPECT_DOUBLE_EQ(sample.ttft_ms, sample.prefill_ms);
    }
    EXPECT_EQ(engine->cache().use().used, 0);  // nothing stays behind
  }
}

TEST_F(EngineLoad, WhatTheModelCannotHoldIsRefusedAndLeavesNothingBehind) {
  const auto engine = make(4096);
  EXPECT_THROW(run_latency(*engine, *backend_, vocabulary(), {.batch = 1, .prompt_tokens = 300, .output_tokens = 2}),
               LoadError);
  EXPECT_EQ(engine->cache().use().used, 0);
  EXPECT_TRUE(engine->idle());
}

TEST_F(EngineLoad, ThroughputServesEveryRequestWithItsOwnLengths) {
  const ThroughputLoad load{.requests = 11, .concurrency = 4, .input = {3, 30}, .output = {1, 12}, .seed = 5};
  const auto engine = make(kv_tokens(load, 32));
  const ThroughputRun run = run_throughput(*engine, Env::system(), vocabulary(), load);
  ASSERT_EQ(run.requests.size(), 11u);
  std::int64_t inputs = 0, outputs = 0, expected_inputs = 0, expected_outputs = 0;
  for (std::uint64_t i = 0; i < 11; ++i) {
    inputs += run.requests[i].prompt_tokens;
    outputs += run.requests[i].output_tokens;
    expected_inputs += metrics::sample(load.input, load.seed, i, 0);
    expected_outputs += metrics::sample(load.output, load.seed, i, 1);
  }
  EXPECT_EQ(inputs, expected_inputs);
  EXPECT_EQ(outputs, expected_outputs);
  EXPECT_EQ(run.input_tokens, inputs);
  EXPECT_EQ(run.output_tokens, outputs);
  EXPECT_GT(run.seconds, 0.0);
  EXPECT_NEAR(run.mean_step_outputs() * static_cast<double>(run.steps), static_cast<double>(outputs), 1e-6);
  EXPECT_LE(run.mean_step_outputs(), 4.0);  // never more in flight than asked for
}

TEST_F(EngineLoad, OneAtATimeTakesOneStepForEachToken) {
  const ThroughputLoad load{.requests = 3, .concurrency = 1, .input = {10, 10}, .output = {5, 5}};
  const auto engine = make(kv_tokens(load, 32));
  EXPECT_EQ(run_throughput(*engine, Env::system(), vocabulary(), load).steps, 15);
}

TEST_F(EngineLoad, AStrideScoresEachTokenOnceWithMoreBeforeIt) {
  std::vector<std::int32_t> text(150);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::int32_t>(3 + i * i % 61);
  const decode::Perplexity strided = scored(text, {.window = 64, .stride = 16});
  EXPECT_EQ(strided.tokens(), 149);
  EXPECT_EQ(scored(text, {.window = 64, .stride = 64}).value(), scored(text, {.window = 64}).value());
  EXPECT_EQ(scored(text, {.window = 64, .stride = 16, .chunk = 5}).value(), strided.value());
  EXPECT_NE(strided.value(), scored(text, {.window = 64}).value());
  // A window that holds all of the text scores it alike, whatever the stride.
  EXPECT_EQ(scored(text, {.window = 200, .stride = 7}).value(), scored(text, {.window = 200}).value());
}

TEST_F(EngineLoad, AModelBesideItselfDoesNotDiverge) {
  std::vector<std::int32_t> text(60);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::int32_t>(3 + i * i % 61);
  const ScoredModel model{transformer_, *backend_};
  const TextEvaluation same = evaluate_text(model, &model, text, {.window = 32, .chunk = 64});
  EXPECT_EQ(same.divergence.tokens(), same.perplexity.tokens());
  EXPECT_EQ(same.reference.value(), same.perplexity.value());
  EXPECT_NEAR(same.divergence.mean(), 0.0, 1e-12);
  EXPECT_EQ(same.divergence.same_top(), 1.0);
}

TEST_F(EngineLoad, PerplexityIsThatOfEachWindowWhateverTheChunks) {
  std::vector<std::int32_t> text(150);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::int32_t>(3 + i * i % 61);
  const auto measure = [&](std::span<const std::int32_t> tokens, std::int64_t window, std::int64_t chunk) {
    return scored(tokens, {.window = window, .chunk = chunk});
  };
  const decode::Perplexity whole = measure(text, 64, 64);
  EXPECT_EQ(whole.tokens(), 63 + 63 + 21);
  for (const std::int64_t chunk : {1, 7, 200}) EXPECT_EQ(measure(text, 64, chunk).value(), whole.value()) << chunk;
  double total = 0.0;  // of the windows by themselves
  for (std::size_t begin = 0; begin < text.size(); begin += 64) {
    const auto part = measure(std::span(text).subspan(begin, std::min<std::size_t>(64, text.size() - begin)), 64, 64);
    total += std::log(part.value()) * static_cast<double>(part.tokens());
  }
  EXPECT_NEAR(whole.value(), std::exp(total / static_cast<double>(whole.tokens())), 1e-9 * whole.value());
}

TEST_F(EngineLoad, PerplexityBeginsEachWindowWithBosWhichIsNotScored) {
  const std::vector<std::int32_t> text = {9, 8, 7, 6, 5}, first = {1, 9, 8, 7}, second = {1, 6, 5};
  const auto with_bos = scored(text, {.window = 4, .bos = 1});
  EXPECT_EQ(with_bos.tokens(), 5);
  const double one = std::log(scored(first, {.window = 4}).value()) * 3;
  const double two = std::log(scored(second, {.window = 4}).value()) * 2;
  EXPECT_NEAR(std::log(with_bos.value()), (one + two) / 5, 1e-9);
}

TEST_F(EngineLoad, PerplexityOfATextWithoutASecondTokenScoresNone) {
  const std::vector<std::int32_t> text = {5};
  EXPECT_EQ(scored(text, {.window = 64, .bos = 1}).tokens(), 1);
  EXPECT_EQ(scored(text, {.window = 64}).tokens(), 0);
  EXPECT_EQ(scored({}, {.window = 64}).tokens(), 0);
}

}  // namespace
}  // namespace millrace::engine::load
