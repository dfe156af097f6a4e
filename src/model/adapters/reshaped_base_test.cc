// Adapters with norms, tokens or layers of their own, merged into their base: PEFT's logits (make_adapters.py), and
// what does not fit.

#include "model/adapters/reshaped_base.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "backend/cpu/cpu_backend.h"
#include "base/memory_env.h"
#include "model/adapters/load_adapter.h"
#include "model/testing/golden_adapters.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

ReshapedBase reshaped(const fs::path& base, const std::vector<ScaledAdapter>& adapters, Env& env = Env::system()) {
  return reshaped_base(env, checkpoint::open_checkpoint(Env::system(), base).or_throw(), adapters);
}

void merge_into(ReshapedBase& base, const std::vector<ScaledAdapter>& adapters) {
  const TensorFormats f32 = [](const checkpoint::RawTensor& tensor) {
    return tensor.shape.rank() <= 2 ? quant::find_format("f32") : nullptr;
  };
  static_cast<void>(merge_adapters(Env::system(), *base.checkpoint,
                                   backend::cpu::make_cpu_backend({.threads = 1}).or_throw(), adapters,
                                   {.formats = f32, .layers = base.layers}));
}

class AdapterToMerge : public testing::TestWithParam<fs::path> {};

TEST_P(AdapterToMerge, GivesPeftsLogits) {
  const GoldenLogits golden = read_golden(GetParam());
  ReshapedBase base = reshaped(base_of(GetParam()), {{GetParam()}});
  merge_into(base, {{GetParam()}});
  TestRunner runner(std::move(base.checkpoint), {.precision = backend::MatmulPrecision::kF32});
  EXPECT_LE(largest_error(runner.run_whole(golden.tokens), golden.logits), 1e-4);
}

TEST_P(AdapterToMerge, HalfTwiceIsTheWhole) {
  if (GetParam().filename() == "llama_tied_layers") return;  // DoRA is no sum of halves
  const GoldenLogits golden = read_golden(GetParam());
  const std::vector<ScaledAdapter> halves = {{GetParam(), 0.5}, {GetParam(), 0.5}};
  if (GetParam().filename().string().find("norms") != std::string::npos)
    return;  // halves of what is left are a quarter
  ReshapedBase base = reshaped(base_of(GetParam()), halves);
  merge_into(base, halves);
  TestRunner runner(std::move(base.checkpoint), {.precision = backend::MatmulPrecision::kF32});
  EXPECT_LE(largest_error(runner.run_whole(golden.tokens), golden.logits), 1e-4);
}

TEST_P(AdapterToMerge, IsNotServedAndTheErrorSaysHowToMergeIt) {
  TestRunner runner(base_of(GetParam()), {});
  const AdapterLoader loader(runner.checkpoint(), runner.transformer(), runner.backend());
  try {
    loader.load(Env::system(), GetParam(), {});
    ADD_FAILURE() << "it loads";
  } catch (const LoadError& failure) {
    EXPECT_NE(failure.error().message.find("`millrace lora merge`"), std::string::npos) << failure.error().message;
  }
}

std::vector<fs::path> adapters_that_only_merge() {
  std::vector<fs::path> folders;
  for (const auto& folder : fs::directory_iterator(kGoldens / "merged_adapters")) folders.push_back(folder.path());
  std::ranges::sort(folders);
  return folders;
}

std::string only_merges_name(const testing::TestParamInfo<fs::path>& tested) {
  return tested.param.filename().string();
}
INSTANTIATE_TEST_SUITE_P(Adapters, AdapterToMerge, testing::ValuesIn(adapters_that_only_merge()), only_merges_name);

const fs::path kReshaped = kGoldens / "tiny/llama", kOnlyMerged = kGoldens / "merged_adapters";

std::string refusal_of(const fs::path& base, const std::vector<ScaledAdapter>& adapters, Env& env = Env::system()) {
  try {
    static_cast<void>(reshaped(base, adapters, env));
    return "";
  } catch (const LoadError& failure) {
    return failure.error().message;
  }
}

TEST(ReshapedBase, StaysAsItIsForOtherAdapters) {
  const ReshapedBase base = reshaped(kReshaped, {{kGoldens / "adapters/llama_q_v"}});
  EXPECT_TRUE(base.config.empty());
  EXPECT_TRUE(base.layers.empty());
  EXPECT_TRUE(base.tokenizer.empty());
}

TEST(ReshapedBase, SaysWhatItsConfigurationHasToSay) {
  const ReshapedBase layers = reshaped(kReshaped, {{kOnlyMerged / "llama_layers"}});
  EXPECT_EQ(layers.config, nlohmann::json({{"num_hidden_layers", 4}}));
  EXPECT_EQ(layers.layers, (LayerReplication{{0, 2}, {1, 2}, {0, 1}}));
  const ReshapedBase tokens = reshaped(kReshaped, {{kOnlyMerged / "llama_tokens"}});
  EXPECT_EQ(tokens.config, nlohmann::json({{"vocab_size", 67}}));
  EXPECT_EQ(tokens.tokenizer, kOnlyMerged / "llama_tokens");
}

TEST(ReshapedBase, RefusesWhatDoesNotFit) {
  EXPECT_NE(refusal_of(kReshaped / "model.gguf", {{kOnlyMerged / "llama_layers"}}).find("safetensors"),
            std::string::npos);
  EXPECT_NE(refusal_of(kReshaped / "model.gguf", {{kOnlyMerged / "llama_tokens"}}).find("safetensors"),
            std::string::npos);
  const std::string different =
      refusal_of(kReshaped, {{kOnlyMerged / "llama_layers"}, {kGoldens / "adapters/llama_q_v"}});
  EXPECT_NE(different.find("llama_q_v: layer_replication is not that of"), std::string::npos) << different;
  MemoryEnv env;
  const std::string folder = kOnlyMerged / "llama_layers";
  env.files = {{"a/adapter_model.safetensors",
                read_file(Env::system(), folder + "/adapter_model.safetensors", 1 << 20).or_throw()}};
  env.files["a/adapter_config.json"] = R"({"peft_type": "LORA", "r": 4, "layer_replication": [[0, 2], [1, 3]]})";
  EXPECT_NE(refusal_of(kReshaped, {{"a"}}, env).find("layers [1, 3): the base has 2"), std::string::npos);
}

// The lists of a configuration follow the layers; numbers of layers in it cannot.
TEST(ReshapedBase, KeepsWhatLayersCompute) {
  MemoryEnv env;
  env.files = {{"a/adapter_model.safetensors",
                read_file(Env::system(), kGoldens / "adapters/gemma2/adapter_model.safetensors", 1 << 20).or_throw()}};
  env.files["a/adapter_config.json"] = R"({"peft_type": "LORA", "r": 4, "layer_replication": [[1, 2], [0, 2]]})";
  const ReshapedBase windows = reshaped(kGoldens / "families/gemma2", {{"a"}}, env);
  EXPECT_EQ(windows.config.at("layer_types"),
            nlohmann::json({"full_attention", "sliding_attention", "full_attention"}));
  const std::string refused = refusal_of(kGoldens / "families/dots1", {{"a"}}, env);
  EXPECT_NE(refused.find("makes layer 0 of layer 1, which computes otherwise by its number"), std::string::npos)
      << refused;
}

}  // namespace
}  // namespace millrace::model
