// What a GPTQ checkpoint may not be: one thing broken at a time.

#include "model/weights/gptq_weight.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/memory_env.h"
#include "model/model_spec.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "model.layers.0.mlp.down_proj";

struct Broken {
  MemoryEnv env;
  nlohmann::json config;

  explicit Broken(const std::string& golden = "v2_asym4_order") {
    const fs::path folder = fs::path(MILLRACE_TEST_DATA) / "../golden/gptq" / golden;
    config = nlohmann::json::parse(read_file(Env::system(), folder / "config.json", 1 << 20).or_throw());
    env.files["d/model.safetensors"] = read_file(Env::system(), folder / "model.safetensors", 1 << 20).or_throw();
  }
  // Renames a tensor to one of the same length, so that the header stays as long.
  void rename(const std::string& from, const std::string& to) {
    std::string& file = env.files["d/model.safetensors"];
    file.replace(file.find(from), from.size(), to);
  }
  std::string outcome() {
    env.files["d/config.json"] = config.dump();
    auto checkpoint = checkpoint::open_checkpoint(env, "d");
    if (!checkpoint) return checkpoint.error().message;
    try {
      const CheckpointWeights weights(**checkpoint);
      const auto weight = weights.open(std::string(kName) + ".weight", 64, 96);
      std::vector<std::byte> rows(weight->format->row_bytes(96) * 64);
      weight->read(0, 64, rows);
      return std::string(weight->format->name);
    } catch (const LoadError& e) {
      return e.what();
    }
  }
};

TEST(GptqWeight, TakesTheFormatThatSaysTheSame) {
  EXPECT_EQ(Broken("v1_sym4").outcome(), "q4_0");
  EXPECT_EQ(Broken("v1_sym4_zeros_of_v2").outcome(), "q4_0");
  EXPECT_EQ(Broken("v2_asym4_order").outcome(), "q4_z");
  EXPECT_EQ(Broken("v2_sym8").outcome(), "q8_0");
  EXPECT_EQ(Broken("v1_asym8_order").outcome(), "q8_z");
}

TEST(GptqWeight, NamesATensorThatIsMissing) {
  const std::string name = kName;
  for (const auto& [tensor, message] : {std::pair{".qzeros", "missing; expected int32 [3, 8]"},
                                        {".scales", "expected a tensor [groups, 64]"},
                                        {".g_idx", "missing: the order of the columns is not known"}}) {
    Broken broken;
    std::string other = name + tensor;
    other.back() = 'q';
    broken.rename(name + tensor, other);
    EXPECT_EQ(broken.outcome(), "d: tensor '" + name + tensor + "': " + message);
  }
  Broken broken;
  broken.rename(name + ".qweight", name + ".qweighq");
  EXPECT_EQ(broken.outcome(), "d: tensor '" + name + ".weight' is missing; expected shape [64, 96]");
}

TEST(GptqWeight, RefusesOtherVariantsByName) {
  const auto with = [](const char* field, const nlohmann::json& value) {
    Broken broken;
    broken.config["quantization_config"][field] = value;
    return broken.outcome();
  };
  EXPECT_EQ(with("checkpoint_format", "marlin"),
            "d/config.json: quantization_config.checkpoint_format: 'marlin' is not supported, only gptq and gptq_v2");
  EXPECT_EQ(with("bits", 3), "d/config.json: quantization_config.bits: 3 is not supported, only 4 and 8");
  EXPECT_EQ(
      with("quant_method", "awq"),
      "d/config.json: quantization_config: quantized safetensors of quant_method 'awq' are not supported, only of "
      "gptq; use the original or a GGUF file");
  Broken plain;
  plain.config.erase("quantization_config");
  EXPECT_NE(plain.outcome().find("dtype 'I32' is not supported"), std::string::npos) << plain.outcome();
}

}  // namespace
}  // namespace millrace::model
