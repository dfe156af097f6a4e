// What a GPTQ checkpoint may not be: one thing broken at a time.

#include "model/weights/gptq_tensors.h"

#include <gtest/gtest.h>

#include <cstring>
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
  nlohmann::json& quantization() { return config["quantization_config"]; }
  // Moves the quantization_config to a file of its own.
  void set_quantization_apart() {
    env.files["d/quantize_config.json"] = quantization().dump();
    config.erase("quantization_config");
  }
  // Value i of a tensor of int32.
  void set_value(const std::string& tensor, std::size_t i, std::int32_t value) {
    std::string& file = env.files["d/model.safetensors"];
    std::uint64_t header = 0;
    std::memcpy(&header, file.data(), sizeof header);
    const auto entry = nlohmann::json::parse(file.substr(8, header)).at(tensor);
    const auto begin = entry.at("data_offsets")[0].get<std::size_t>();
    std::memcpy(file.data() + 8 + header + begin + 4 * i, &value, sizeof value);
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
      const auto weight = weights.open(std::string(kName) + ".weight", {.rows = 64, .cols = 96});
      std::vector<std::byte> rows(weight->format->row_bytes(96) * 64);
      weight->read(0, 64, rows);
      return std::string(weight->format->name);
    } catch (const LoadError& e) {
      return e.what();
    }
  }
};

TEST(GptqWeight, TakesTheFormatThatSaysTheSame) {
  EXPECT_EQ(Broken("v1_sym4").outcome(), "int4_g32");
  EXPECT_EQ(Broken("v1_sym4_zeros_of_v2").outcome(), "int4_g32");
  EXPECT_EQ(Broken("v2_asym4_order").outcome(), "int4_g32z");
  EXPECT_EQ(Broken("v2_sym8").outcome(), "int8_g32");
  EXPECT_EQ(Broken("v1_asym8_order").outcome(), "int8_g32z");
}

TEST(GptqWeight, NamesATensorThatIsMissing) {
  const std::string name = kName;
  for (const auto& [tensor, message] : {std::pair{".qzeros", "missing; expected I32 [3, 8]"},
                                        {".scales", "missing; expected F16, BF16 or F32 [groups, 64]"},
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
  EXPECT_EQ(with("checkpoint_format", "gptq_p"),
            "d/config.json: quantization_config.checkpoint_format: 'gptq_p' is not supported, only gptq and gptq_v2");
  EXPECT_EQ(with("bits", 5), "d/config.json: quantization_config.bits: 5 is not supported, only 2, 3, 4 and 8");
  EXPECT_EQ(with("pack_dtype", "int64"),
            "d/config.json: quantization_config.pack_dtype: 'int64' is not supported, only int32");
  const std::string refused = with("quant_method", "aqlm");
  for (const char* part :
       {"d/config.json: quantization_config: ", "of quant_method 'aqlm' are not supported (its code books",
        "only of auto-round, awq, ", "use the original, or a GGUF, AWQ or GPTQ file of it"}) {
    EXPECT_NE(refused.find(part), std::string::npos) << refused;
  }
  Broken plain;
  plain.config.erase("quantization_config");
  EXPECT_NE(plain.outcome().find("dtype 'I32' is not supported"), std::string::npos) << plain.outcome();
}

TEST(GptqWeight, TakesTheConfigurationFromAFileOfItsOwn) {
  Broken apart;
  apart.set_quantization_apart();
  EXPECT_EQ(apart.outcome(), "int4_g32z");
  // As AutoGPTQ wrote it before it named methods and formats.
  Broken old("v1_sym4");
  old.config["quantization_config"] = {{"bits", 4},
                                       {"group_size", 32},
                                       {"damp_percent", 0.01},
                                       {"sym", true},
                                       {"true_sequential", true},
                                       {"desc_act", false},
                                       {"model_name_or_path", nullptr}};
  old.set_quantization_apart();
  EXPECT_EQ(old.outcome(), "int4_g32");
  Broken wrong;
  wrong.quantization()["bits"] = 6;
  wrong.set_quantization_apart();
  EXPECT_EQ(wrong.outcome(), "d/quantize_config.json: bits: 6 is not supported, only 2, 3, 4 and 8");
  Broken other;
  other.quantization()["quant_method"] = "aqlm";
  other.set_quantization_apart();
  EXPECT_NE(other.outcome().find("d/quantize_config.json: quant_method: quantized safetensors of quant_method 'aqlm'"),
            std::string::npos)
      << other.outcome();
  // config.json counts where it says something.
  Broken both;
  both.env.files["d/quantize_config.json"] = R"({"bits": 6, "group_size": 32})";
  EXPECT_EQ(both.outcome(), "int4_g32z");
}

TEST(GptqWeight, FieldsThatAreNotThereMeanWhatTheToolsMean) {
  for (const char* field : {"sym", "desc_act", "checkpoint_format", "group_size"}) {
    Broken symmetric("v1_sym4"), other("v1_asym4");
    symmetric.quantization().erase(field);
    other.quantization().erase(field);
    EXPECT_EQ(symmetric.outcome(), "int4_g32") << field;
    EXPECT_EQ(other.outcome(), "int4_g32z") << field;
  }
}

TEST(GptqWeight, ColumnsInOrderNeedNoIndex) {
  for (const auto& [golden, format] :
       {std::pair{"v1_sym4", "int4_g32"}, {"v1_asym4", "int4_g32z"}, {"v2_sym8", "int8_g32"}}) {
    Broken without(golden);
    without.rename(std::string(kName) + ".g_idx", std::string(kName) + ".g_idq");
    EXPECT_EQ(without.outcome(), format) << golden;
  }
  // One group has no order.
  Broken whole("v1_sym4_whole");
  whole.rename(std::string(kName) + ".g_idx", std::string(kName) + ".g_idq");
  whole.quantization()["desc_act"] = true;
  EXPECT_EQ(whole.outcome(), "int4_g32");
}

TEST(GptqWeight, NamesAGroupOfAnotherSizeOrOneThatIsNotThere) {
  const std::string index = std::string(kName) + ".g_idx";
  Broken uneven("v1_sym4");
  uneven.set_value(index, 0, 1);
  EXPECT_EQ(uneven.outcome(), "d: tensor '" + index + "': group 0 has 31 columns; only multiples of 32 are supported");
  Broken beyond("v1_sym4");
  beyond.set_value(index, 0, 3);
  EXPECT_EQ(beyond.outcome(), "d: tensor '" + index + "': group 3 of 3 does not exist");
}

}  // namespace
}  // namespace millrace::model
