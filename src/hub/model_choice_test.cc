#include "hub/model_choice.h"

#include <gtest/gtest.h>

namespace millrace::hub {
namespace {

std::vector<RepositoryFile> files_of(const std::vector<std::string>& names) {
  std::vector<RepositoryFile> files;
  for (const std::string& name : names) files.push_back({.name = name, .size = 1000});
  return files;
}

Result<ModelChoice> choose(const std::vector<std::string>& names, const std::string& selector = "",
                           const std::string& index = "{}") {
  return choose_model("org/name", files_of(names), selector,
                      [&](const RepositoryFile&) -> Result<std::string> { return index; });
}

std::string message(const Result<ModelChoice>& choice) { return choice ? "" : choice.error().message; }

TEST(ModelChoice, PrefersTheUsualCompromise) {
  EXPECT_EQ(choose({"m-Q2_K.gguf", "m-Q8_0.gguf", "m-Q4_K_M.gguf", "m-F16.gguf"})->quantization, "Q4_K_M");
  EXPECT_EQ(choose({"m-Q2_K.gguf", "m-Q8_0.gguf", "m-Q4_0.gguf"})->quantization, "Q4_0");
  EXPECT_EQ(choose({"m-F16.gguf", "m-mxfp4.gguf"})->quantization, "MXFP4");
  EXPECT_EQ(choose({"m-IQ2_XXS.gguf", "m-Q2_K.gguf"})->quantization, "Q2_K");
  EXPECT_EQ(choose({"m-IQ2_XXS.gguf"})->quantization, "IQ2_XXS");
  EXPECT_EQ(choose({"m-IQ1_S.gguf", "m-IQ2_M.gguf", "m-IQ3_M.gguf", "m-Q2_K.gguf"})->quantization, "IQ3_M");
  EXPECT_EQ(choose({"m-IQ4_XS.gguf", "m-Q5_K_M.gguf", "m-NVFP4.gguf"})->quantization, "IQ4_XS");
  EXPECT_EQ(choose({"gemma.gguf", "mmproj-gemma-f16.gguf", "gemma.imatrix.gguf"})->entry, "gemma.gguf");
}

TEST(ModelChoice, TwoThatAreAlikeMustBeNamed) {
  EXPECT_NE(message(choose({"a-Q4_K_M.gguf", "b-Q4_K_M.gguf"})).find("'a-Q4_K_M.gguf', 'b-Q4_K_M.gguf'"),
            std::string::npos);
  EXPECT_EQ(choose({"a-Q4_K_M.gguf", "b-Q4_K_M.gguf"}, "b-Q4_K_M")->entry, "b-Q4_K_M.gguf");
}

TEST(ModelChoice, ThePlainNameMeansAVariantOnlyWhereThereIsNoOther) {
  EXPECT_EQ(choose({"m-UD-Q4_K_XL.gguf", "m-Q4_K_M.gguf"}, "q4_k_xl")->quantization, "UD-Q4_K_XL");
  EXPECT_EQ(choose({"m-UD-Q2_K.gguf", "m-Q2_K.gguf"}, "Q2_K")->quantization, "Q2_K");
}

TEST(ModelChoice, QuantizedGgufBeforeSafetensorsBeforeFullPrecision) {
  EXPECT_EQ(choose({"config.json", "model.safetensors", "m-Q8_0.gguf"})->format, ModelChoice::Format::kGguf);
  EXPECT_EQ(choose({"config.json", "model.safetensors", "m.gguf"})->format, ModelChoice::Format::kSafetensors);
  EXPECT_EQ(choose({"config.json", "model.safetensors", "m-F16.gguf"})->format, ModelChoice::Format::kSafetensors);
  EXPECT_EQ(choose({"config.json", "model.safetensors", "m-F16.gguf"}, "f16")->entry, "m-F16.gguf");
  EXPECT_EQ(choose({"config.json", "model.safetensors", "m-Q8_0.gguf"}, "safetensors")->format,
            ModelChoice::Format::kSafetensors);
}

TEST(ModelChoice, ShardsOfGgufComeInOrderAndWhole) {
  const auto choice = choose({"m-Q8_0-00002-of-00002.gguf", "m-Q8_0-00001-of-00002.gguf", "README.md"});
  EXPECT_EQ(choice->weights, (std::vector<std::string>{"m-Q8_0-00001-of-00002.gguf", "m-Q8_0-00002-of-00002.gguf"}));
  EXPECT_EQ(choice->entry, "m-Q8_0-00001-of-00002.gguf");
  EXPECT_EQ(choice->metadata, std::vector<std::string>{"README.md"});
  EXPECT_NE(message(choose({"m-Q8_0-00002-of-00002.gguf"}, "Q8_0")).find("of its 2 shards only 1"), std::string::npos);
}

TEST(ModelChoice, AnAdapterAloneIsNoModel) {
  const auto alone = choose({"README.md", "adapter_config.json", "adapter_model.safetensors", "tokenizer.json"});
  EXPECT_EQ(alone.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(message(alone).find("merge_and_unload"), std::string::npos) << message(alone);
  EXPECT_NE(message(alone).find("--lora"), std::string::npos) << message(alone);
  EXPECT_EQ(choose({"config.json", "model.safetensors", "adapter_config.json"})->format,
            ModelChoice::Format::kSafetensors);
}

TEST(ModelChoice, AnAdapterIsChosenAsOne) {
  const auto chosen = choose({"README.md", "adapter_config.json", "adapter_model.bin", "adapter_model.safetensors",
                              "chat_template.jinja", "optimizer.pt", "tokenizer.json"},
                             "adapter");
  EXPECT_EQ(chosen->weights, std::vector<std::string>{"adapter_model.safetensors"});
  EXPECT_EQ(chosen->metadata,
            (std::vector<std::string>{"adapter_config.json", "README.md", "chat_template.jinja", "tokenizer.json"}));
  EXPECT_EQ(chosen->entry, "");
  EXPECT_EQ(choose({"adapter_config.json", "adapter_model.bin"}, "adapter")->format, ModelChoice::Format::kTorch);
  EXPECT_NE(message(choose({"config.json", "model.safetensors"}, "adapter")).find("no PEFT adapter"),
            std::string::npos);
}

TEST(ModelChoice, TakesAFileThatSaysHowWeightsAreQuantized) {
  EXPECT_EQ(choose({"config.json", "model.safetensors", "quantize_config.json", "quant_log.csv"})->metadata,
            (std::vector<std::string>{"config.json", "quantize_config.json"}));
}

TEST(ModelChoice, TakesEveryFileThatATokenizerIsReadFrom) {
  for (const char* file : {"tokenizer.json", "tokenizer.model", "tokenizer.jsonl", "tiktoken.model", "qwen.tiktoken"}) {
    EXPECT_EQ(choose({"config.json", "model.safetensors", file})->metadata,
              (std::vector<std::string>{"config.json", file}));
  }
}

TEST(ModelChoice, AnIncompleteModelDoesNotHideAWholeOne) {
  EXPECT_EQ(choose({"m-Q4_K_M-00001-of-00002.gguf", "m-Q8_0.gguf"})->quantization, "Q8_0");
}

TEST(ModelChoice, AnIndexNamesItsShards) {
  const auto choice = choose({"config.json", "model.safetensors.index.json", "a.safetensors", "b.safetensors"}, "",
                             R"({"weight_map": {"x": "b.safetensors", "y": "a.safetensors", "z": "b.safetensors"}})");
  EXPECT_EQ(choice->weights, (std::vector<std::string>{"a.safetensors", "b.safetensors"}));
  EXPECT_EQ(choice->metadata, (std::vector<std::string>{"config.json", "model.safetensors.index.json"}));
}

TEST(ModelChoice, FilesOfTorchComeLast) {
  using Format = ModelChoice::Format;
  EXPECT_EQ(choose({"config.json", "pytorch_model.bin", "model.h5"})->weights,
            std::vector<std::string>{"pytorch_model.bin"});
  EXPECT_EQ(choose({"config.json", "pytorch_model.bin"})->format, Format::kTorch);
  EXPECT_EQ(choose({"config.json", "pytorch_model.bin", "model.safetensors"})->weights,
            std::vector<std::string>{"model.safetensors"});
  EXPECT_EQ(choose({"config.json", "pytorch_model.bin", "m-F16.gguf"})->format, Format::kGguf);
  EXPECT_EQ(choose({"config.json", "pytorch_model.bin", "m-Q4_0.gguf"}, "torch")->format, Format::kTorch);
  EXPECT_FALSE(choose({"config.json", "pytorch_model.bin"}, "safetensors"));
  EXPECT_EQ(message(choose({"pytorch_model.bin"})), "org/name: torch without config.json");
  const std::vector<std::string> sharded = {"config.json", "pytorch_model.bin.index.json", "1.bin", "2.bin"};
  EXPECT_EQ(choose(sharded, "", R"({"weight_map": {"x": "2.bin", "y": "1.bin"}})")->weights,
            (std::vector<std::string>{"1.bin", "2.bin"}));
  EXPECT_FALSE(choose(sharded, "", R"({"weight_map": {"x": "evil.py"}})"));
}

TEST(ModelChoice, HeadsMayBeAlone) {
  EXPECT_EQ(choose({"config.json", "medusa_lm_head.pt"})->weights, std::vector<std::string>{"medusa_lm_head.pt"});
  EXPECT_EQ(choose({"config.json", "medusa_lm_head.pt", "medusa_lm_head.safetensors"})->weights,
            std::vector<std::string>{"medusa_lm_head.safetensors"});
}

TEST(ModelChoice, AHostileIndexIsRefused) {
  const std::vector<std::string> names = {"config.json", "model.safetensors.index.json"};
  for (const char* index : {"[]", "{}", R"({"weight_map": {"x": "../../y.safetensors"}})",
                            R"({"weight_map": {"x": "/etc/passwd"}})", R"({"weight_map": {"x": 1}})",
                            R"({"weight_map": {"x": "evil.bin"}})", R"({"weight_map": {"x": "absent.safetensors"}})"}) {
    EXPECT_FALSE(choose(names, "", index)) << index;
  }
  EXPECT_FALSE(choose(names, "", std::string(100'000, '[')));
}

TEST(ModelChoice, SaysWhatThereIsInstead) {
  EXPECT_NE(message(choose({"model.bin", "tf_model.h5"})).find("only .bin, .h5"), std::string::npos);
  EXPECT_NE(message(choose({"m.gguf", "config.json"}, "safetensors")).find("no model.safetensors"), std::string::npos);
  EXPECT_NE(message(choose({"README.md"})).find("among 1 files"), std::string::npos);
  EXPECT_NE(message(choose({"m-Q8_0.gguf"}, "Q2_K")).find("'Q8_0' (1.00 kB)"), std::string::npos);
  EXPECT_EQ(choose({"model.safetensors"}).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace millrace::hub
