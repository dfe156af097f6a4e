#include "runtime/loaded_model.h"

#include <gtest/gtest.h>

#include <set>

namespace millrace::runtime {
namespace {

std::uint64_t key_of(const std::string& quantization) {
  ModelConfig config;
  config.path = MILLRACE_TEST_DATA "/../golden/tiny/llama";
  config.matmul_precision = "f32";
  config.quantization = quantization;
  return load_model(config, nullptr).weights_key;
}

// Outliers that were found, and keys and values on disk, are kept under it.
TEST(LoadedModel, WeightsMadeToBeOthersHaveAnotherKey) {
  std::set<std::uint64_t> keys;
  for (const char* quantization : {"", "q8_0", "w8a8", "q4_0"}) {
    EXPECT_TRUE(keys.insert(key_of(quantization)).second) << quantization;
  }
  EXPECT_FALSE(keys.insert(key_of("q8_0")).second);
}

std::uint64_t key_with(const std::string& adapter) {
  ModelConfig config;
  config.path = MILLRACE_TEST_DATA "/../golden/tiny/llama";
  config.matmul_precision = "f32";
  if (!adapter.empty()) config.merged_lora = MILLRACE_TEST_DATA "/../golden/adapters/" + adapter;
  return load_model(config, nullptr).weights_key;
}

TEST(LoadedModel, WithAnAdapterMergedHasAnotherKey) {
  std::set<std::uint64_t> keys;
  for (const char* adapter : {"", "llama_all", "llama_q_v"}) EXPECT_TRUE(keys.insert(key_with(adapter)).second);
  EXPECT_FALSE(keys.insert(key_with("llama_q_v")).second);
}

}  // namespace
}  // namespace millrace::runtime
