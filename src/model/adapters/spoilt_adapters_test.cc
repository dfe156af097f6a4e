// Adapters that are damaged, of another model, or of a kind that is not understood: each is refused as a whole, and the
// message names what is wrong.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/memory_env.h"
#include "checkpoint/safetensors_writer.h"
#include "checkpoint/testing/tiny_torch_file.h"
#include "model/adapters/load_adapter.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

constexpr const char* kBase = MILLRACE_TEST_DATA "/../golden/tiny/llama";
constexpr std::int64_t kQueries = 64;  // rows of its query projection
const std::string kFirst = "base_model.model.model.layers.0.self_attn.q_proj.";

// An adapter of rank 4 for the query projections of both layers, as files.
struct SpoiltFiles {
  nlohmann::json config = {{"peft_type", "LORA"}, {"r", 4}, {"lora_alpha", 8}, {"target_modules", {"q_proj"}}};
  struct Tensor {
    Shape shape;
    std::vector<float> values;
  };
  std::map<std::string, Tensor> tensors;

  void add(const std::string& name, std::int64_t rows, std::int64_t cols) {
    tensors[name] = {{rows, cols}, std::vector<float>(static_cast<std::size_t>(rows * cols), 0.25f)};
  }
  std::string weights() const {
    std::vector<checkpoint::TensorSpec> specs;
    std::string data;
    for (const auto& [name, tensor] : tensors) {
      specs.push_back({name, quant::find_format("f32"), tensor.shape});
      data.append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size() * sizeof(float));
    }
    return checkpoint::safetensors_header_bytes({}, specs).or_throw() + data;
  }
};

class SpoiltAdapter : public testing::Test {
 protected:
  SpoiltAdapter() {
    for (const std::string layer : {"0", "1"}) {
      const std::string module = "base_model.model.model.layers." + layer + ".self_attn.q_proj.";
      files_.add(module + "lora_A.weight", 4, spec().hidden_size);
      files_.add(module + "lora_B.weight", kQueries, 4);
    }
  }
  const ModelSpec& spec() const { return runner_.transformer().spec(); }
  Result<std::shared_ptr<const Adapter>> load(const AdapterOptions& options = {}) {
    if (!env_.files.contains("a/adapter_config.json")) env_.files["a/adapter_config.json"] = files_.config.dump();
    if (!env_.files.contains("a/adapter_model.safetensors"))
      env_.files["a/adapter_model.safetensors"] = files_.weights();
    const AdapterLoader loader(runner_.checkpoint(), runner_.transformer(), runner_.backend());
    try {
      return loader.load(env_, "a", options);
    } catch (const LoadError& failure) {
      return failure.error();
    }
  }
  // Loading fails, and one line says all of these.
  void expect_refused(std::initializer_list<std::string_view> words, const AdapterOptions& options = {}) {
    const auto loaded = load(options);
    ASSERT_FALSE(loaded);
    const std::string& message = loaded.error().message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
    for (const std::string_view word : words) {
      EXPECT_NE(message.find(word), std::string::npos) << word << " in: " << message;
    }
  }

  TestRunner runner_{kBase, {.max_length = 64}};
  SpoiltFiles files_;
  MemoryEnv env_;
};

TEST_F(SpoiltAdapter, IsNotWhatLoadsWhereNothingIsWrong) {
  const auto loaded = load();
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->summary().rank, 4);
  EXPECT_EQ((*loaded)->summary().modules, 2);
  EXPECT_GT((*loaded)->bytes(), 0u);
}

TEST_F(SpoiltAdapter, OfAnUnsupportedKindSaysWhich) {
  const std::pair<const char*, nlohmann::json> fields[] = {
      {"layer_replication", {{0, 1}, {0, 2}}},
      {"alora_invocation_tokens", "<|begin|>"},
      {"alora_invocation_tokens", {5, -6}},
      {"bias", "some"},
      {"use_qalora", true},
      {"some_new_field", 3},
      {"init_lora_weights", "pissa_niter_16"},
      {"peft_type", "IA3"},
  };
  for (const auto& [field, value] : fields) {
    env_.files.clear();
    const nlohmann::json before = files_.config;
    files_.config[field] = value;
    expect_refused({field, "adapter_config.json"});
    files_.config = before;
  }
}

// The base before the invocation is that of no adapter.
TEST_F(SpoiltAdapter, ThatIsActivatedChangesNothingElse) {
  files_.config["alora_invocation_tokens"] = {5, 6};
  const auto loaded = load();
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->invocation_tokens(), (std::vector<std::int32_t>{5, 6}));
  const std::pair<const char*, nlohmann::json> fields[] = {
      {"bias", "all"}, {"use_dora", true}, {"modules_to_save", {"lm_head"}}, {"trainable_token_indices", {1}}};
  for (const auto& [field, value] : fields) {
    env_.files.clear();
    files_.config[field] = value;
    expect_refused({"alora_invocation_tokens", field});
    files_.config.erase(field);
  }
  env_.files.clear();
  files_.add("base_model.model.model.embed_tokens.lora_embedding_A", 4, spec().vocab_size);
  files_.add("base_model.model.model.embed_tokens.lora_embedding_B", spec().hidden_size, 4);
  expect_refused({"model.embed_tokens", "activated"});
}

TEST_F(SpoiltAdapter, WithoutTheTensorsThatItsConfigurationNames) {
  const std::pair<const char*, nlohmann::json> fields[] = {
      {"use_dora", true},
      {"modules_to_save", {"lm_head"}},
      {"trainable_token_indices", {1}},
      {"trainable_token_indices", {{"embed_tokens", {1}}}},
      {"lora_bias", true},
  };
  for (const auto& [field, value] : fields) {
    env_.files.clear();
    const nlohmann::json before = files_.config;
    files_.config[field] = value;
    expect_refused({field});
    files_.config = before;
  }
}

TEST_F(SpoiltAdapter, WithPartsOfOtherSizes) {
  const std::string first = "base_model.model.model.";
  const auto expect_without = [&](const std::string& tensor, std::initializer_list<std::string_view> parts) {
    env_.files.clear();
    expect_refused(parts);
    files_.tensors.erase(tensor);
  };
  // More rows than the base's vocabulary has, as after new tokens.
  files_.add(first + "embed_tokens.weight", spec().vocab_size + 2, spec().hidden_size);
  expect_without(first + "embed_tokens.weight", {"model.embed_tokens.weight", "[66, 32]", "model's 64", "lora merge"});
  files_.add("base_model.model.lm_head.weight", spec().vocab_size, spec().hidden_size - 1);
  expect_without("base_model.model.lm_head.weight", {"lm_head.weight", "[64, 31]"});
  files_.add(first + "layers.0.input_layernorm.weight", 1, spec().hidden_size);
  expect_without(first + "layers.0.input_layernorm.weight", {"model.layers.0.input_layernorm.weight"});
  files_.tensors[first + "layers.0.self_attn.q_proj.lora_magnitude_vector"] = {{3}, {1.0f, 1.0f, 1.0f}};
  expect_without(first + "layers.0.self_attn.q_proj.lora_magnitude_vector", {"lora_magnitude_vector", "[3]", "[64]"});
  files_.tensors[first + "embed_tokens.lora_magnitude_vector"] = {{32}, std::vector<float>(32, 1.0f)};
  expect_without(first + "embed_tokens.lora_magnitude_vector", {"model.embed_tokens.lora_magnitude_vector"});
  files_.add(first + "embed_tokens.lora_embedding_A", 4, spec().vocab_size);
  env_.files.clear();
  expect_refused({"lora_embedding_A", "no lora_B"});
  files_.add(first + "embed_tokens.lora_embedding_B", spec().hidden_size, 4);
  env_.files.clear();
  EXPECT_TRUE(load());
  files_.add(first + "embed_tokens.lora_embedding_A", 3, spec().vocab_size);
  env_.files.clear();
  expect_refused({"lora_embedding_A", "[3, 64]", "rank 4"});
  files_.tensors.erase(first + "embed_tokens.lora_embedding_A");
  files_.tensors.erase(first + "embed_tokens.lora_embedding_B");
  files_.add(first + "embed_tokens.token_adapter.trainable_tokens_delta", 1, spec().hidden_size);
  files_.config["trainable_token_indices"] = {spec().vocab_size};
  env_.files.clear();
  expect_refused({"trainable_token_indices", "64"});
  files_.config["trainable_token_indices"] = {-1};
  env_.files.clear();
  expect_refused({"trainable_token_indices"});
  files_.config["trainable_token_indices"] = {1, 2};
  env_.files.clear();
  expect_refused({"trainable_tokens_delta", "[1, 32]", "[2, 32]"});
}

TEST_F(SpoiltAdapter, OfTheEmbeddingAlsoKeepsTheLargestRank) {
  files_.tensors.clear();
  const std::string module = "base_model.model.model.embed_tokens.";
  files_.add(module + "lora_embedding_A", 4, spec().vocab_size);
  files_.add(module + "lora_embedding_B", spec().hidden_size, 4);
  EXPECT_TRUE(load({.max_rank = 4}));
  const auto refused = load({.max_rank = 3});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().param, "max-lora-rank");
}

TEST_F(SpoiltAdapter, WithFieldsThatSwitchNothingOnLoads) {
  for (const char* field : {"use_dora", "modules_to_save", "layer_replication", "arrow_config", "some_new_field"}) {
    files_.config[field] = nullptr;
  }
  files_.config["use_dora"] = false;
  files_.config["rank_pattern"] = nlohmann::json::object();
  EXPECT_TRUE(load());
}

TEST_F(SpoiltAdapter, WithNumbersOutOfRange) {
  files_.config["r"] = 0;
  expect_refused({"r is 0", "1 to 1024"});
  env_.files.clear();
  files_.config["r"] = "four";
  expect_refused({"adapter_config.json", "r"});
  env_.files.clear();
  files_.config["r"] = 4;
  files_.config["rank_pattern"] = {{"q_proj", 0}};
  expect_refused({"rank_pattern"});
  env_.files.clear();
  files_.config["rank_pattern"] = {{"q_(proj", 4}};
  expect_refused({"rank_pattern", "regular expression"});
}

TEST_F(SpoiltAdapter, OfAnotherRank) {
  files_.config["r"] = 5;
  expect_refused({"layers.0.self_attn.q_proj.lora_A.weight", "[4, 32]", "rank 5"});
  env_.files.clear();
  files_.config["r"] = 4;
  expect_refused({"max-lora-rank is 3", "rank 4"}, {.max_rank = 3});
}

TEST_F(SpoiltAdapter, OfAnotherModelNamesTheTensor) {
  files_.add(kFirst + "lora_A.weight", 4, spec().hidden_size + 16);
  expect_refused({"layers.0.self_attn.q_proj.lora_A.weight", "[4, 48]", "[4, 32]"});
  env_.files.clear();
  files_.add(kFirst + "lora_A.weight", 4, spec().hidden_size);
  files_.add("base_model.model.model.layers.7.self_attn.q_proj.lora_A.weight", 4, 32);
  expect_refused({"layers.7.self_attn.q_proj.lora_A.weight"});
  env_.files.clear();
  files_.tensors.erase("base_model.model.model.layers.7.self_attn.q_proj.lora_A.weight");
  files_.add("base_model.model.model.layers.0.self_attn.rotary.lora_B.weight", 4, 32);
  expect_refused({"self_attn.rotary.lora_B.weight"});
}

TEST_F(SpoiltAdapter, WithHalfAPair) {
  files_.tensors.erase(kFirst + "lora_B.weight");
  expect_refused({"layers.0.self_attn.q_proj.lora_A.weight", "no lora_B"});
  env_.files.clear();
  files_.add(kFirst + "lora_B.weight", kQueries, 4);
  files_.tensors.erase(kFirst + "lora_A.weight");
  expect_refused({"layers.0.self_attn.q_proj.lora_B.weight"});
}

TEST_F(SpoiltAdapter, WithAValueThatIsNoNumber) {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    env_.files.clear();
    files_.tensors[kFirst + "lora_B.weight"].values[77] = value;
    expect_refused({"layers.0.self_attn.q_proj.lora_B.weight", "finite"});
  }
}

TEST_F(SpoiltAdapter, WithTwoTensorsOfOneWeight) {
  for (const std::string& name : {"base_model.model." + kFirst + "lora_A.weight", kFirst + "lora_A.default.weight"}) {
    env_.files.clear();
    files_.add(name, 4, 32);
    expect_refused({"layers.0.self_attn.q_proj.lora_A", "another one"});
    files_.tensors.erase(name);
  }
}

TEST_F(SpoiltAdapter, WithoutWeightsOrFiles) {
  files_.tensors.clear();
  expect_refused({"no weights"});
  env_.files = {{"a/adapter_config.json", files_.config.dump()}};
  const AdapterLoader loader(runner_.checkpoint(), runner_.transformer(), runner_.backend());
  EXPECT_THROW(loader.load(env_, "a", {}), LoadError);
  EXPECT_THROW(loader.load(env_, "b", {}), LoadError);
}

TEST_F(SpoiltAdapter, OfFurtherLayersOrNormsSaysHowToMergeIt) {
  for (const nlohmann::json& layers :
       {nlohmann::json{{1, 1}}, nlohmann::json{{0, -1}}, nlohmann::json{{0, 4097}},
        nlohmann::json{{0, 4000}, {0, 4000}}, nlohmann::json{0, 2}, nlohmann::json("0")}) {
    env_.files.clear();
    files_.config["layer_replication"] = layers;
    expect_refused({"layer_replication", "ranges"});
  }
  env_.files.clear();
  files_.config["layer_replication"] = {{0, 2}, {1, 2}};
  expect_refused({"adapter_config.json", "layer_replication", "`millrace lora merge`"});
  env_.files.clear();
  files_.config.erase("layer_replication");
  files_.config["modules_to_save"] = {"norm"};
  files_.tensors["base_model.model.model.norm.weight"] = {{spec().hidden_size}, std::vector<float>(32, 1.0f)};
  expect_refused({"model.norm.weight", "`millrace lora merge`"});
}

TEST_F(SpoiltAdapter, InSeveralFilesSaysHowToSaveIt) {
  env_.files = {{"a/adapter_model-00001-of-00002.safetensors", files_.weights()},
                {"a/adapter_model.safetensors", ""},
                {"a/adapter_model.safetensors.index.json", "{}"}};
  env_.files.erase("a/adapter_model.safetensors");
  env_.files["a/adapter_config.json"] = files_.config.dump();
  const AdapterLoader loader(runner_.checkpoint(), runner_.transformer(), runner_.backend());
  try {
    loader.load(env_, "a", {});
    ADD_FAILURE() << "it loads";
  } catch (const LoadError& failure) {
    EXPECT_NE(failure.error().message.find("index.json: an adapter in several files"), std::string::npos);
    EXPECT_NE(failure.error().message.find("load it with PEFT"), std::string::npos);
  }
}

// Python would call os.system; here nothing can.
TEST_F(SpoiltAdapter, WithCodeInItsPickleIsRefusedByName) {
  namespace pickled = checkpoint::pickled;
  checkpoint::TinyTorchFile torch;
  torch.pickle = pickled::whole(pickled::global("os", "system") + pickled::text("true") + "\x85R");
  env_.files = {{"a/adapter_config.json", files_.config.dump()}, {"a/adapter_model.bin", torch.bytes()}};
  const AdapterLoader loader(runner_.checkpoint(), runner_.transformer(), runner_.backend());
  try {
    loader.load(env_, "a", {});
    ADD_FAILURE() << "it loads";
  } catch (const LoadError& failure) {
    EXPECT_NE(failure.error().message.find("adapter_model.bin"), std::string::npos) << failure.error().message;
    EXPECT_NE(failure.error().message.find("'os.system'"), std::string::npos) << failure.error().message;
  }
}

TEST_F(SpoiltAdapter, CutAtAnyByteNeverHalfLoads) {
  const std::string whole = files_.weights();
  for (std::size_t length = 0; length < whole.size(); length += length < 900 ? 7 : 101) {
    env_.files.clear();
    env_.files["a/adapter_model.safetensors"] = whole.substr(0, length);
    EXPECT_FALSE(load()) << length;
  }
}

}  // namespace
}  // namespace millrace::model
