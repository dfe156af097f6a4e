// Adapters of experts: those that are damaged or not understood are refused, and experts may differ.

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/memory_env.h"
#include "checkpoint/safetensors_writer.h"
#include "model/adapters/load_adapter.h"
#include "model/testing/golden_adapters.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

constexpr std::int64_t kMixed = 7, kMixedHidden = 24, kMixedWidth = 12;  // experts and sizes of the base

class ExpertAdapterFiles : public testing::Test {
 protected:
  // A of `rank` rows and B of as many columns, of a module in layer 0.
  void add(const std::string& module, std::int64_t rows, std::int64_t cols, std::int64_t rank) {
    const auto numbers = [&](std::int64_t n) {
      std::vector<float> values;
      for (std::int64_t i = 0; i < n; ++i)
        values.push_back(static_cast<float>((i * 37 + rows + rank) % 23) / 40.0f - 0.25f);
      return values;
    };
    tensors_["model.layers.0.mlp." + module + ".lora_A.weight"] = {{rank, cols}, numbers(rank * cols)};
    tensors_["model.layers.0.mlp." + module + ".lora_B.weight"] = {{rows, rank}, numbers(rows * rank)};
  }
  void add_gates(std::int64_t rank) {
    for (std::int64_t e = 0; e < kMixed; ++e) add(gate(e), kMixedWidth, kMixedHidden, rank);
  }
  static std::string gate(std::int64_t expert) { return fmt::format("experts.{}.gate_proj", expert); }
  std::shared_ptr<const Adapter> load() {
    std::vector<checkpoint::TensorSpec> specs;
    std::string data;
    for (const auto& [name, tensor] : tensors_) {
      specs.push_back({"base_model.model." + name, quant::find_format("f32"), tensor.first});
      data.append(reinterpret_cast<const char*>(tensor.second.data()), tensor.second.size() * sizeof(float));
    }
    MemoryEnv env;
    env.files = {{"a/adapter_config.json", config_.dump()},
                 {"a/adapter_model.safetensors", checkpoint::safetensors_header_bytes({}, specs).or_throw() + data}};
    const AdapterLoader loader(runner_.checkpoint(), runner_.transformer(), runner_.backend());
    return loader.load(env, "a", {.type = AdapterType::kF32});
  }
  void expect_refused(std::initializer_list<std::string_view> words) {
    try {
      static_cast<void>(load());
      ADD_FAILURE() << "loaded, and not refused for " << *words.begin();
    } catch (const LoadError& failure) {
      const std::string& message = failure.error().message;
      EXPECT_EQ(message.find('\n'), std::string::npos);
      for (const std::string_view word : words)
        EXPECT_NE(message.find(word), std::string::npos) << word << ": " << message;
    }
  }
  std::vector<float> logits(const Adapter* adapter) {
    runner_.set_adapter(adapter);
    return runner_.run_whole({3, 9, 27, 30, 5, 11, 40, 8, 19});
  }

  TestRunner runner_{kGoldens / "families/qwen3_moe", {.precision = backend::MatmulPrecision::kF32, .max_length = 64}};
  nlohmann::json config_ = {{"peft_type", "LORA"}, {"r", 2}, {"lora_alpha", 3}, {"peft_version", "0.21.2"}};
  std::map<std::string, std::pair<Shape, std::vector<float>>> tensors_;
};

TEST_F(ExpertAdapterFiles, LoadWhereNothingIsWrong) {
  add_gates(2);
  const auto adapter = load();
  EXPECT_EQ(adapter->summary().rank, 2);
  EXPECT_GE(largest_error(logits(adapter.get()), logits(nullptr)), 1e-3);
}

TEST_F(ExpertAdapterFiles, OfExpertsApartNameWhatIsWrong) {
  const std::string a = "model.layers.0.mlp.experts.3.gate_proj.lora_A.weight";
  add_gates(2);
  const auto good = tensors_;
  add(gate(7), kMixedWidth, kMixedHidden, 2);
  expect_refused({"experts.7.gate_proj"});
  tensors_ = good;
  add(gate(3), kMixedWidth, kMixedHidden, 3);
  expect_refused({a, "[3, 24]", "rank 2"});
  tensors_ = good;
  add(gate(3), kMixedWidth, kMixedHidden + 1, 2);
  expect_refused({a, "[2, 25]", "[2, 24]"});
  tensors_ = good;
  tensors_.erase("model.layers.0.mlp.experts.3.gate_proj.lora_B.weight");
  expect_refused({a, "no lora_B"});
  tensors_ = good;
  tensors_[a].second[5] = std::numeric_limits<float>::quiet_NaN();
  expect_refused({"gate_proj.lora_A.weight", "no finite number"});
  tensors_ = good;
  tensors_["model.layers.0.mlp.experts.3.gate_proj.lora_magnitude_vector"] = {Shape{kMixedWidth},
                                                                              std::vector<float>(kMixedWidth)};
  expect_refused({"experts.3.gate_proj.lora_magnitude_vector"});
  tensors_ = good;
  config_["use_dora"] = true;
  expect_refused({"use_dora", "experts"});
}

TEST_F(ExpertAdapterFiles, OfParametersNameWhatIsWrong) {
  config_["target_parameters"] = {"mlp.experts.down_proj"};
  add("experts", kMixedHidden, kMixedWidth, 2 * kMixed);
  EXPECT_GE(largest_error(logits(load().get()), logits(nullptr)), 1e-3);
  const auto good = tensors_;
  add("experts", kMixedHidden, kMixedWidth, 2 * kMixed - 1);
  expect_refused({"experts.down_proj.lora_A.weight", "[13, 12]", "rank 2", "7 experts"});
  add("experts", kMixedHidden, kMixedWidth + 2, 2 * kMixed);
  expect_refused({"experts.down_proj.lora_A.weight", "[14, 14]", "[14, 12]"});
  tensors_ = good;
  add("experts.base_layer", kMixedHidden, kMixedWidth, 2 * kMixed);
  expect_refused({"experts.base_layer.lora_A.weight"});
  tensors_ = good;
  config_["target_parameters"] = {"mlp.experts.gate_up_proj_bias"};
  expect_refused({"experts.gate_up_proj_bias.lora_A.weight"});
  config_["target_parameters"] = "mlp.experts.down_proj";
  expect_refused({"target_parameters", "a list"});
  config_["target_parameters"] = {"mlp.experts.down_proj"};
  for (const char* field : {"use_dora", "lora_bias"}) {
    config_[field] = true;
    expect_refused({field, "target_parameters"});
    config_.erase(field);
  }
}

// Ranks of their own, and some without any: as if all had the greatest, with zeros.
TEST_F(ExpertAdapterFiles, MayDifferAmongExperts) {
  config_["rank_pattern"] = {{"experts.2.gate_proj", 5}};
  config_["alpha_pattern"] = {{"experts.2.gate_proj", 7.5}};
  add(gate(2), kMixedWidth, kMixedHidden, 5);
  add(gate(4), kMixedWidth, kMixedHidden, 2);
  const std::vector<float> found = logits(load().get());
  config_ = {{"peft_type", "LORA"}, {"r", 5}, {"lora_alpha", 7.5}};
  const auto lesser = tensors_;
  add_gates(5);
  for (std::int64_t e = 0; e < kMixed; ++e) {
    auto& a = tensors_["model.layers.0.mlp." + gate(e) + ".lora_A.weight"].second;
    auto& b = tensors_["model.layers.0.mlp." + gate(e) + ".lora_B.weight"].second;
    if (e == 2) continue;
    std::ranges::fill(b, 0.0f);
    if (e != 4) continue;
    std::ranges::copy(lesser.at("model.layers.0.mlp." + gate(4) + ".lora_A.weight").second, a.begin());
    const std::vector<float>& own = lesser.at("model.layers.0.mlp." + gate(4) + ".lora_B.weight").second;
    for (std::size_t i = 0; i < own.size(); ++i) b[i / 2 * 5 + i % 2] = own[i];  // both scales are 1.5
  }
  EXPECT_LE(largest_error(logits(load().get()), found), 1e-6);
  EXPECT_GE(largest_error(logits(nullptr), found), 1e-3);
}

}  // namespace
}  // namespace millrace::model
