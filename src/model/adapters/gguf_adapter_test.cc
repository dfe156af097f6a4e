// GGUF files of adapters, made by llama.cpp's converter of PEFT's (tests/golden/make_gguf_adapters.py): logits are
// those of PEFT, on GGUF files and on safetensors. And files that are not what they should be.

#include <gtest/gtest.h>

#include <filesystem>

#include "base/memory_env.h"
#include "checkpoint/gguf_writer.h"
#include "model/adapters/load_adapter.h"
#include "model/adapters/open_adapter.h"
#include "model/testing/golden_adapters.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

std::vector<std::filesystem::path> gguf_adapters(bool with_gguf_base) {
  std::vector<std::filesystem::path> folders;
  for (const auto& folder : std::filesystem::directory_iterator(kGoldens / "adapters")) {
    if (!std::filesystem::exists(folder.path() / "adapter.gguf")) continue;
    if (with_gguf_base && !std::filesystem::exists(base_of(folder.path()) / "model.gguf")) continue;
    folders.push_back(folder.path());
  }
  std::ranges::sort(folders);
  return folders;
}

// Of files in bf16 and q8_0, the goldens being of f32.
double allowed_error(const std::filesystem::path& folder) {
  const std::string name = folder.filename();
  return name == "llama_q_v" || name == "llama_tied" ? 3e-2 : 1e-4;
}

class GgufAdapter : public testing::TestWithParam<std::filesystem::path> {
 protected:
  void expect_golden(const std::filesystem::path& model) const {
    const GoldenLogits golden = read_golden(GetParam());
    const auto length = std::ssize(golden.tokens);
    TestRunner runner(model, {.precision = backend::MatmulPrecision::kF32, .max_length = length});
    const AdapterLoader loader(runner.checkpoint(), runner.transformer(), runner.backend());
    const auto adapter = loader.load(Env::system(), GetParam() / "adapter.gguf", {.type = AdapterType::kF32});
    runner.set_adapter(adapter.get(), first_adapted(*adapter, golden.tokens));
    const double error = largest_error(runner.run_whole(golden.tokens), golden.logits);
    std::printf("  %-20s %.1e\n", GetParam().filename().c_str(), error);
    EXPECT_LE(error, allowed_error(GetParam())) << model;
  }
};
class GgufAdapterOfGguf : public GgufAdapter {};

TEST_P(GgufAdapter, OnSafetensorsEqualsPeft) {
  const std::string base = base_of(GetParam()).filename();
  if (base == "mixtral" || base == "glm4") {  // their safetensors do not say how GGUF has them
    EXPECT_THROW(expect_golden(base_of(GetParam())), LoadError);
  } else {
    expect_golden(base_of(GetParam()));
  }
}
TEST_P(GgufAdapterOfGguf, EqualsPeft) { expect_golden(base_of(GetParam()) / "model.gguf"); }

std::string gguf_adapter_name(const testing::TestParamInfo<std::filesystem::path>& tested) {
  return tested.param.filename().string();
}
INSTANTIATE_TEST_SUITE_P(Adapters, GgufAdapter, testing::ValuesIn(gguf_adapters(false)), gguf_adapter_name);
INSTANTIATE_TEST_SUITE_P(Adapters, GgufAdapterOfGguf, testing::ValuesIn(gguf_adapters(true)), gguf_adapter_name);

// A GGUF file of an adapter of the query projection.
struct SpoiltGguf {
  std::vector<checkpoint::GgufEntry> metadata = {{"general.type", std::string("adapter")},
                                                 {"adapter.type", std::string("lora")},
                                                 {"general.architecture", std::string("llama")},
                                                 {"adapter.lora.alpha", 8.0f}};
  std::vector<std::pair<std::string, Shape>> tensors = {{"blk.0.attn_q.weight.lora_a", Shape{4, 32}},
                                                        {"blk.0.attn_q.weight.lora_b", Shape{64, 4}}};

  std::string bytes() const {
    std::vector<checkpoint::TensorSpec> specs;
    std::string data;
    for (const auto& [name, shape] : tensors) {
      specs.push_back({name, quant::find_format("f32"), shape});
      data.append(static_cast<std::size_t>(shape.elements()) * sizeof(float), '\0');
      data.append((32 - data.size() % 32) % 32, '\0');
    }
    return checkpoint::gguf_header_bytes(metadata, specs).or_throw() + data;
  }
  void set(const std::string& key, checkpoint::GgufValue value) {
    std::erase_if(metadata, [&](const auto& entry) { return entry.first == key; });
    metadata.emplace_back(key, std::move(value));
  }
};

AdapterFiles open_gguf(const SpoiltGguf& file) {
  MemoryEnv env;
  env.files["a.gguf"] = file.bytes();
  return open_adapter(env, "a.gguf");
}

std::string gguf_refusal(const SpoiltGguf& file) {
  try {
    MemoryEnv env;
    env.files["a.gguf"] = file.bytes();
    TestRunner runner(kGoldens / "tiny/llama", {.max_length = 64});
    const AdapterLoader loader(runner.checkpoint(), runner.transformer(), runner.backend());
    static_cast<void>(loader.load(env, "a.gguf", {}));
    return "";
  } catch (const LoadError& failure) {
    EXPECT_EQ(failure.error().message.find('\n'), std::string::npos);
    return failure.error().message;
  }
}

TEST(SpoiltGgufAdapter, SaysWhatIsWrong) {
  const auto expect = [](SpoiltGguf file, std::initializer_list<std::string_view> words) {
    const std::string message = gguf_refusal(file);
    for (const std::string_view word : words)
      EXPECT_NE(message.find(word), std::string::npos) << word << ": " << message;
  };
  EXPECT_EQ(gguf_refusal({}), "");
  SpoiltGguf file;
  file.set("general.type", std::string("model"));
  expect(file, {"general.type", "'model'", "'adapter'"});
  file = {};
  file.set("adapter.type", std::string("ia3"));
  expect(file, {"adapter.type", "'ia3'"});
  file = {};
  file.set("general.architecture", std::string("qwen3"));
  expect(file, {"general.architecture", "'qwen3'"});
  file = {};
  file.set("adapter.lora.alpha", std::numeric_limits<float>::quiet_NaN());
  expect(file, {"adapter.lora.alpha", "finite"});
  file = {};
  file.set("adapter.something", std::int32_t{1});
  expect(file, {"adapter.something"});
  file = {};
  file.tensors.emplace_back("blk.0.attn_norm.weight", Shape{32});
  expect(file, {"blk.0.attn_norm.weight", "[32]"});
  file = {};
  file.tensors.emplace_back("blk.9.attn_q.weight.lora_a", Shape{4, 32});
  expect(file, {"blk.9.attn_q.lora_A.weight"});
  file = {};
  file.tensors.pop_back();
  expect(file, {"blk.0.attn_q.lora_A.weight", "no lora_B"});
  file = {};
  file.tensors[0].second = Shape{4, 48};
  expect(file, {"blk.0.attn_q.lora_A.weight", "[4, 48]", "[4, 32]"});
  file.tensors[0].second = Shape{1025, 32};
  expect(file, {"blk.0.attn_q", "1025", "1 to 1024"});
}

// As llama.cpp has it: alpha / rank, or 1 where there is no alpha.
TEST(SpoiltGgufAdapter, WithoutAlphaHasTheScaleOne) {
  SpoiltGguf file;
  EXPECT_EQ(open_gguf(file).config.scale("blk.0.attn_q"), 2.0);
  file.set("adapter.lora.alpha", 0.0f);
  EXPECT_EQ(open_gguf(file).config.scale("blk.0.attn_q"), 1.0);
  EXPECT_EQ(open_gguf(file).config.rank("blk.0.attn_q"), 4);
}

}  // namespace
}  // namespace millrace::model
