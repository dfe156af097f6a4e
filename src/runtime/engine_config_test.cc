#include "runtime/engine_config.h"

#include <gtest/gtest.h>

namespace millrace::runtime {
namespace {

// What is said of a configuration with one change: "field | message".
template <typename Change>
std::string complaint_of_engine(Change change) {
  EngineConfig config;
  change(config);
  const auto valid = config.validate();
  if (valid) return "";
  EXPECT_EQ(valid.error().code, ErrorCode::kInvalidArgument);
  return valid.error().param + " | " + valid.error().message;
}

TEST(EngineConfig, DefaultsAreValidAndThoseOfTheEngine) {
  EXPECT_TRUE(EngineConfig().validate().ok());
  const engine::Config made = EngineConfig().config(), own;
  EXPECT_EQ(made.policy, own.policy);
  EXPECT_EQ(made.scheduling.max_batched_tokens, own.scheduling.max_batched_tokens);
  EXPECT_EQ(made.scheduling.max_sequences, own.scheduling.max_sequences);
  EXPECT_EQ(made.prefix_caching, own.prefix_caching);
  EXPECT_EQ(made.swap_bytes, own.swap_bytes);
  EXPECT_EQ(made.preemption, own.preemption);
  EXPECT_EQ(made.jump_forward, own.jump_forward);
}

TEST(EngineConfig, NamesTheFieldTheValueAndTheLimit) {
  EXPECT_EQ(complaint_of_engine([](EngineConfig& c) { c.max_num_seqs = 0; }),
            "max-num-seqs | max-num-seqs is 0: must be between 1 and 65536");
  EXPECT_EQ(complaint_of_engine([](EngineConfig& c) { c.max_num_batched_tokens = (1 << 20) + 1; }),
            "max-num-batched-tokens | max-num-batched-tokens is 1048577: must be between 1 and 1048576");
  EXPECT_EQ(complaint_of_engine([](EngineConfig& c) { c.batch_wait_ms = std::nan(""); }),
            "batch-wait-ms | batch-wait-ms is nan: must be between 0 and 1000000");
  EXPECT_EQ(complaint_of_engine([](EngineConfig& c) { c.batching = "now and then"; }),
            "batching | batching is 'now and then': expected one of continuous, dynamic, static");
  EXPECT_EQ(complaint_of_engine([](EngineConfig& c) { c.preemption_mode = "x"; }),
            "preemption-mode | preemption-mode is 'x': expected one of auto, recompute, swap");
  EXPECT_EQ(complaint_of_engine([](EngineConfig& c) { c.kv_cache_tokens = 64, c.kv_cache_bytes = 9; }),
            "kv-cache-memory-bytes | kv-cache-memory-bytes is 9 beside kv-cache-tokens of 64: one of them is 0");
  EXPECT_TRUE(complaint_of_engine([](EngineConfig& c) {
                c.scheduling_policy = "lottery";
              }).starts_with("scheduling-policy | scheduling-policy is 'lottery': expected one of "));
  EXPECT_TRUE(complaint_of_engine([](EngineConfig& c) {
                c.policy_values.set("first_quantum_ms", -1.0);
              }).starts_with("mlfq-first-quantum-ms | mlfq-first-quantum-ms is -1: must be "));
}

TEST(EngineConfig, ChecksSpeculation) {
  EXPECT_EQ(complaint_of_engine([](EngineConfig& c) { c.speculation.tokens = 65; }),
            "spec-tokens | spec-tokens is 65: must be between 1 and 64");
  EXPECT_EQ(complaint_of_engine([](EngineConfig& c) { c.speculation.branches = 0; }),
            "spec-branches | spec-branches is 0: must be between 1 and 4");
  EXPECT_TRUE(complaint_of_engine([](EngineConfig& c) {
                c.speculation.method = "oracle";
              }).starts_with("spec-method | no drafter is called \"oracle\"; there are "));
  EXPECT_TRUE(complaint_of_engine([](EngineConfig& c) {
                c.speculation.method = "ngram", c.speculation.rule = "x";
              }).starts_with("spec-rule | spec-rule is \"x\"; there are coupled"));
  EXPECT_TRUE(complaint_of_engine([](EngineConfig& c) {
                c.speculation.options.values.set("ngram_min", 65.0);
              }).starts_with("spec-ngram-min | spec-ngram-min is 65: must be "));
}

TEST(AdapterConfig, MergesOneAdapter) {
  AdapterConfig config{.lora = {{"a", "adapters/a"}}, .merge = true};
  ModelConfig model;
  config.merge_into(model);
  EXPECT_EQ(model.merged_lora, "adapters/a");
  EXPECT_TRUE(config.lora.empty());
  EXPECT_FALSE(config.merge);
  config.merge_into(model);
  EXPECT_EQ(model.merged_lora, "adapters/a");
  for (const AdapterConfig& wrong : {AdapterConfig{.merge = true},
                                     {.lora = {{"a", "x"}, {"b", "y"}}, .merge = true},
                                     {.lora = {{"a", "x"}}, .merge = true, .lora_dir = "adapters"}}) {
    const auto valid = wrong.validate();
    ASSERT_FALSE(valid);
    EXPECT_EQ(valid.error().param, "lora-merge");
  }
}

}  // namespace
}  // namespace millrace::runtime
