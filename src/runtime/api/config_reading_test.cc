#include "runtime/api/config_reading.h"

#include <gtest/gtest.h>

namespace millrace::runtime {
namespace {

api::EngineConfig with_option(const std::string& name, std::variant<double, std::string> value) {
  api::EngineConfig config;
  config.options[name] = std::move(value);
  return config;
}

// The public headers repeat the defaults, as they stand alone.
TEST(ConfigReading, PublicDefaultsAreThoseOfTheRuntime) {
  const ModelConfig model = read_config(api::ModelConfig{.path = "x"}).or_throw(), models_own;
  EXPECT_EQ(model.device, models_own.device);
  EXPECT_EQ(model.threads, models_own.threads);
  EXPECT_EQ(model.cpu_isa, models_own.cpu_isa);
  EXPECT_EQ(model.kv_cache_dtype, models_own.kv_cache_dtype);
  EXPECT_EQ(model.kv_layout, models_own.kv_layout);
  EXPECT_EQ(model.block_size, models_own.block_size);
  EXPECT_EQ(model.matmul_precision, models_own.matmul_precision);
  EXPECT_EQ(model.max_model_len, models_own.max_model_len);
  EXPECT_EQ(model.quantization, models_own.quantization);
  EXPECT_EQ(model.imatrix, models_own.imatrix);
  EXPECT_EQ(model.packed_cache, models_own.packed_cache);
  EXPECT_EQ(model.packed_cache_limit, models_own.packed_cache_limit);
  const EngineConfig engine = read_config(api::EngineConfig()).or_throw(), own;
  EXPECT_EQ(engine.max_num_batched_tokens, own.max_num_batched_tokens);
  EXPECT_EQ(engine.max_num_seqs, own.max_num_seqs);
  EXPECT_EQ(engine.long_prefill_token_threshold, own.long_prefill_token_threshold);
  EXPECT_EQ(engine.scheduling_policy, own.scheduling_policy);
  EXPECT_EQ(engine.batching, own.batching);
  EXPECT_EQ(engine.batch_wait_ms, own.batch_wait_ms);
  EXPECT_EQ(engine.tpot_target_ms, own.tpot_target_ms);
  EXPECT_EQ(engine.kv_cache_tokens, own.kv_cache_tokens);
  EXPECT_EQ(engine.kv_cache_bytes, own.kv_cache_bytes);
  EXPECT_EQ(engine.prefix_caching, own.prefix_caching);
  EXPECT_EQ(engine.swap_space, own.swap_space);
  EXPECT_EQ(engine.preemption_mode, own.preemption_mode);
  EXPECT_EQ(engine.kv_disk_tier, own.kv_disk_tier);
  EXPECT_EQ(engine.kv_disk_tier_limit, own.kv_disk_tier_limit);
}

TEST(ConfigReading, PublicDefaultsOfSpeculationAreThoseOfTheRuntime) {
  const SpeculationConfig speculation = read_config(api::EngineConfig()).or_throw().speculation, own;
  EXPECT_EQ(speculation.method, own.method);
  EXPECT_EQ(speculation.model, own.model);
  EXPECT_EQ(speculation.rule, own.rule);
  EXPECT_EQ(speculation.tokens, own.tokens);
  EXPECT_EQ(speculation.branches, own.branches);
  EXPECT_EQ(speculation.adaptive, own.adaptive);
  EXPECT_EQ(speculation.jump_forward, own.jump_forward);
}

TEST(ConfigReading, OptionsReachThePolicyOrDrafterThatHasThem) {
  EXPECT_EQ(read_config(with_option("first_quantum_ms", 7.0)).or_throw().policy_values.find("first_quantum_ms"), 7.0);
  EXPECT_EQ(read_config(with_option("ngram_min", 3.0)).or_throw().speculation.options.values.find("ngram_min"), 3.0);
}

TEST(ConfigReading, NamesTheOptionThatIsWrong) {
  const auto message = [](const api::EngineConfig& config) { return read_config(config).error().message; };
  EXPECT_EQ(message(with_option("pixie_dust", 1.0)),
            "options has 'pixie_dust': no scheduling policy, no resource of admission and no way of drafting has an "
            "option of that name");
  EXPECT_EQ(message(with_option("ngram_min", std::string("three"))), "ngram_min must be a number");
  EXPECT_TRUE(message(with_option("ngram_min", 65.0)).starts_with("ngram_min is 65: must be "));
  EXPECT_EQ(message({.slow_reader_ms = 0.0}), "slow_reader_ms is 0: must be above 0 and at most 1000000000");
  EXPECT_EQ(read_config(api::ModelConfig()).error().message, "path is '': expected a .gguf file or a model directory");
}

}  // namespace
}  // namespace millrace::runtime
