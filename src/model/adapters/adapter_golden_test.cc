// Logits of tiny models with adapters against PEFT (tests/golden/make_adapters.py), on the base's safetensors and on
// its GGUF twin.

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "model/adapters/load_adapter.h"
#include "model/testing/golden_adapters.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

// All of them, or those whose base has a twin.
std::vector<fs::path> golden_adapters(bool with_gguf) {
  std::vector<fs::path> folders;
  for (const auto& folder : fs::directory_iterator(kGoldens / "adapters")) {
    if (!with_gguf || fs::exists(base_of(folder.path()) / "model.gguf")) folders.push_back(folder.path());
  }
  std::ranges::sort(folders);
  return folders;
}

class GoldenAdapter : public testing::TestWithParam<fs::path> {
 protected:
  void expect_golden(const fs::path& model) const {
    const GoldenLogits golden = read_golden(GetParam());
    const auto length = std::ssize(golden.tokens);
    TestRunner runner(model, {.precision = backend::MatmulPrecision::kF32, .max_length = length});
    const AdapterLoader loader(runner.checkpoint(), runner.transformer(), runner.backend());
    const auto adapter = loader.load(Env::system(), GetParam(), {.type = AdapterType::kF32});
    EXPECT_EQ(adapter->summary().error, 0.0);
    const std::vector<std::vector<TestRunner::Chunk>> single(golden.tokens.size(), {{0, 1}});
    runner.set_adapter(adapter.get(), first_adapted(*adapter, golden.tokens));
    EXPECT_LE(largest_error(runner.run_whole(golden.tokens), golden.logits), 1e-4) << model << ", the whole prompt";
    EXPECT_LE(largest_error(runner.run({golden.tokens}, single)[0], golden.logits), 1e-4)
        << model << ", token by token";
    runner.set_adapter(nullptr);
    EXPECT_GE(largest_error(runner.run_whole(golden.tokens), golden.logits), 1e-2) << "without it";
  }
};

class GoldenAdapterOfGguf : public GoldenAdapter {};

// Rounded to 8 bits of a mantissa, or A to 8 bits of the largest of 32: an error of its size, and logits that differ.
TEST_P(GoldenAdapter, IsRoundedAsItsTypeSays) {
  const GoldenLogits golden = read_golden(GetParam());
  const auto length = std::ssize(golden.tokens);
  TestRunner runner(base_of(GetParam()), {.precision = backend::MatmulPrecision::kF32, .max_length = length});
  const AdapterLoader loader(runner.checkpoint(), runner.transformer(), runner.backend());
  std::set<std::string> keys;
  for (const auto& [type, name] :
       {std::pair(AdapterType::kF32, "f32"), {AdapterType::kBf16, "bf16"}, {AdapterType::kInt8, "int8"}}) {
    const auto adapter = loader.load(Env::system(), GetParam(), {.type = type});
    EXPECT_EQ(adapter->summary().type, name);
    const double error = adapter->summary().error;
    EXPECT_TRUE(type == AdapterType::kF32 ? error == 0.0 : error > 1e-4 && error < 1e-2) << error;
    keys.insert(adapter->key());
    runner.set_adapter(adapter.get(), first_adapted(*adapter, golden.tokens));
    const double found = largest_error(runner.run_whole(golden.tokens), golden.logits);
    std::printf("  %-20s %-5s weights %.1e, logits %.1e\n", GetParam().filename().c_str(), name, error, found);
    EXPECT_LT(found, type == AdapterType::kF32 ? 1e-4 : 5e-2);
  }
  EXPECT_EQ(keys.size(), 3u) << "rounded otherwise, it is another adapter";
}

TEST_P(GoldenAdapter, EqualsPeft) { expect_golden(base_of(GetParam())); }
TEST_P(GoldenAdapterOfGguf, EqualsPeft) { expect_golden(base_of(GetParam()) / "model.gguf"); }

std::string adapter_name(const testing::TestParamInfo<fs::path>& tested) { return tested.param.filename().string(); }
INSTANTIATE_TEST_SUITE_P(Adapters, GoldenAdapter, testing::ValuesIn(golden_adapters(false)), adapter_name);
INSTANTIATE_TEST_SUITE_P(Adapters, GoldenAdapterOfGguf, testing::ValuesIn(golden_adapters(true)), adapter_name);

}  // namespace
}  // namespace millrace::model
