// Quantized checkpoints of every kind as plain ones in f32: their logits, and an adapter merged into them.

#include "model/weights/dequantized.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/memory_env.h"
#include "model/adapters/linear_modules.h"
#include "model/testing/merged_models.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> quantized_models() {
  std::vector<fs::path> models;
  for (const auto& folder : fs::directory_iterator(kGoldens / "quantized")) {
    if (folder.path().filename() != "ct_mxfp6") models.push_back(folder.path());  // is read by nothing here
  }
  for (const auto& folder : fs::directory_iterator(kGoldens / "gptq")) {
    if (folder.is_directory()) models.push_back(folder.path());
  }
  std::ranges::sort(models);
  return models;
}

class DequantizedModel : public testing::TestWithParam<fs::path> {};

// With a random adapter of every linear layer, beside the quantized model and merged into the plain one.
TEST_P(DequantizedModel, WithAnAdapterMergedComputesWhatServingDoes) {
  const TestRunner::Options exact{.precision = backend::MatmulPrecision::kF32};
  TestRunner beside(GetParam(), exact), plain(GetParam(), exact);
  MemoryEnv env = random_adapter_files(linear_modules(beside.checkpoint(), beside.transformer().spec()), {});
  auto checkpoint = dequantized(checkpoint::open_checkpoint(Env::system(), GetParam()).or_throw());
  EXPECT_FALSE(is_quantized(*checkpoint));
  EXPECT_TRUE(checkpoint->integers.empty());
  expect_merged_as_beside(env, std::move(checkpoint), 2, beside, plain);
}

std::string quantized_name(const testing::TestParamInfo<fs::path>& tested) { return tested.param.filename().string(); }
INSTANTIATE_TEST_SUITE_P(Quantized, DequantizedModel, testing::ValuesIn(quantized_models()), quantized_name);

}  // namespace
}  // namespace millrace::model
