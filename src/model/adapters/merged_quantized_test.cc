// Quantized checkpoints of every kind as plain ones in f32: their logits, and an adapter merged into them.

#include "model/weights/dequantized.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "backend/cpu/cpu_backend.h"
#include "base/memory_env.h"
#include "model/adapters/linear_modules.h"
#include "model/adapters/load_adapter.h"
#include "model/adapters/merged_checkpoint.h"
#include "model/adapters/peft_adapter.h"
#include "model/testing/golden_adapters.h"
#include "model/testing/runner.h"

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
  std::vector<PeftModule> modules;
  std::uint32_t state = 1;
  const auto random = [&](std::int64_t n) {
    std::vector<float> all(static_cast<std::size_t>(n));
    for (float& value : all) {
      state = state * 1664525u + 1013904223u;
      value = (static_cast<float>(state >> 8) / 8388608.0f - 1.0f) * 0.1f;
    }
    return all;
  };
  for (const LinearModule& one : linear_modules(beside.checkpoint(), beside.transformer().spec())) {
    modules.push_back({one.name, one.rows, one.cols, 2, random(2 * one.cols), random(2 * one.rows)});
  }
  const PeftFiles files = peft_files({.rank = 2}, modules);
  MemoryEnv env;
  env.files = {{"a/adapter_config.json", files.config}, {"a/adapter_model.safetensors", files.weights}};
  const auto loaded = AdapterLoader(beside.checkpoint(), beside.transformer(), beside.backend())
                          .load(env, "a", {.type = AdapterType::kF32});
  beside.set_adapter(loaded.get());
  auto checkpoint = dequantized(checkpoint::open_checkpoint(Env::system(), GetParam()).or_throw());
  EXPECT_FALSE(is_quantized(*checkpoint));
  EXPECT_TRUE(checkpoint->integers.empty());
  const ScaledAdapter adapter{"a"};
  const TensorFormats f32 = [](const checkpoint::RawTensor& tensor) {
    return tensor.shape.rank() <= 2 ? quant::find_format("f32") : nullptr;
  };
  static_cast<void>(merge_adapters(env, *checkpoint, backend::cpu::make_cpu_backend({.threads = 1}).or_throw(),
                                   {&adapter, 1}, {.formats = f32}));
  TestRunner merged(std::move(checkpoint), exact);
  const std::vector<std::int32_t> tokens = {3, 9, 27, 30, 5, 11};
  const std::vector<float> expected = beside.run_whole(tokens);
  EXPECT_LE(largest_error(merged.run_whole(tokens), expected), 1e-4);
  EXPECT_GE(largest_error(plain.run_whole(tokens), expected), 1e-3) << "the adapter changes something";
}

std::string quantized_name(const testing::TestParamInfo<fs::path>& tested) { return tested.param.filename().string(); }
INSTANTIATE_TEST_SUITE_P(Quantized, DequantizedModel, testing::ValuesIn(quantized_models()), quantized_name);

}  // namespace
}  // namespace millrace::model
