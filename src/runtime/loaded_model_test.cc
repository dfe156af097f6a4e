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

}  // namespace
}  // namespace millrace::runtime
