// PEFT's adapter of tests/golden/adapters in the files of other tools: the same adapter, to the bit.

#include "model/adapters/weights_adapter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/memory_env.h"
#include "checkpoint/safetensors_writer.h"
#include "model/adapters/load_adapter.h"
#include "model/adapters/open_adapter.h"
#include "model/testing/golden_adapters.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

constexpr std::string_view kPeftPrefix = "base_model.model.";
constexpr float kAlphaOfGolden = 9.0f;
const std::filesystem::path kGolden = kGoldens / "adapters/llama_all";

class WeightsAdapter : public testing::Test {
 protected:
  WeightsAdapter() { golden_ = load(Env::system(), kGolden).or_throw(); }

  Result<std::shared_ptr<const Adapter>> load(Env& env, const std::string& path) {
    const AdapterLoader loader(runner_.checkpoint(), runner_.transformer(), runner_.backend());
    try {
      return loader.load(env, path, {});
    } catch (const LoadError& failure) {
      return failure.error();
    }
  }
  // The golden's tensors, renamed by `name` from "model.layers.0.self_attn.q_proj.lora_A.weight", and for each A a
  // number of that name if `alphas`; an empty name leaves a tensor out.
  void write(const std::function<std::string(std::string)>& name, bool alphas,
             const std::vector<checkpoint::SafetensorsMetadata>& metadata = {}) {
    const AdapterFiles files = open_adapter(Env::system(), kGolden);
    std::vector<checkpoint::TensorSpec> specs;
    std::string data;
    const auto add = [&](const std::string& renamed, const Shape& shape, std::string_view bytes) {
      if (renamed.empty()) return;
      specs.push_back({renamed, quant::find_format("f32"), shape});
      data += bytes;
    };
    for (const checkpoint::RawTensor& tensor : files.tensors.tensors) {
      std::string bytes(tensor.bytes, '\0');
      files.tensors.read(tensor, 0, std::as_writable_bytes(std::span(bytes))).or_throw();
      add(name(tensor.name), tensor.shape, bytes);
      if (const std::size_t at = tensor.name.find(".lora_A.weight"); alphas && at != std::string::npos) {
        const std::string_view number(reinterpret_cast<const char*>(&kAlphaOfGolden), sizeof(float));
        add(name(tensor.name.substr(0, at) + ".alpha"), Shape{}, number);
      }
    }
    env_.files["a.safetensors"] = checkpoint::safetensors_header_bytes(metadata, specs).or_throw() + data;
  }
  void expect_golden() {
    const auto found = load(env_, "a.safetensors");
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ((*found)->key(), golden_->key());
  }
  void expect_refused(std::initializer_list<std::string_view> words) {
    const auto found = load(env_, "a.safetensors");
    ASSERT_FALSE(found);
    for (const std::string_view word : words) {
      EXPECT_NE(found.error().message.find(word), std::string::npos) << word << " in: " << found.error().message;
    }
  }
  static std::string replaced(std::string text, std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
  }
  // "lora_te_model_layers_0_self_attn_q_proj.lora_down.weight"
  static std::string kohya(const std::string& name) {
    const std::size_t at = std::min(name.find(".lora_"), name.find(".alpha"));
    std::string module = name.substr(0, at);
    std::ranges::replace(module, '.', '_');
    return "lora_te_" + module + replaced(replaced(name.substr(at), "lora_A", "lora_down"), "lora_B", "lora_up");
  }

  TestRunner runner_{kGoldens / "tiny/llama", {.max_length = 64}};
  std::shared_ptr<const Adapter> golden_;
  MemoryEnv env_;
};

TEST_F(WeightsAdapter, OfKohyasScriptsIsThatOfPeft) {
  write(kohya, true);
  expect_golden();
  write(kohya, false, {{"ss_network_alpha", "9.0"}});
  expect_golden();
}

TEST_F(WeightsAdapter, WithDotsAndPrefixesIsThatOfPeft) {
  for (const std::string prefix :
       {"", "base_model.model.", "module.base_model.model.", "base_model.model._orig_mod."}) {
    write([&](const std::string& name) { return prefix + name; }, true);
    expect_golden();
    write([&](const std::string& name) { return prefix + replaced(name, "lora_A.weight", "lora_A.default.weight"); },
          true);
    expect_golden();
  }
  write([](const std::string& name) { return "model." + name; }, true);  // a whole inside a whole
  expect_golden();
}

TEST_F(WeightsAdapter, OfPeftNamedByItsFileHasItsConfiguration) {
  const auto found = load(Env::system(), kGolden / "adapter_model.safetensors");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ((*found)->key(), golden_->key());
}

TEST_F(WeightsAdapter, WithoutAlphaSaysSo) {
  write(kohya, false);
  expect_refused({"alpha", "model.layers.0", "ss_network_alpha"});
  write(kohya, false, {{"ss_network_alpha", "None"}});
  expect_refused({"ss_network_alpha", "'None'"});
  write(
      [](const std::string& name) { return name.find("layers.1.mlp.up_proj.alpha") == std::string::npos ? name : ""; },
      true);
  expect_refused({"model.layers.1.mlp.up_proj.alpha"});
}

TEST_F(WeightsAdapter, ThatIsNotUnderstoodNamesTheTensor) {
  for (const std::string end : {"hada_w1_a", "lokr_w2", "dora_scale", "lora_mid.weight", "diff"}) {
    write([&](const std::string& name) { return replaced(kohya(name), "lora_up.weight", end); }, true);
    expect_refused({"model.layers.0", "lora_A"});
    write(
        [&](const std::string& name) {
          return name.ends_with("lora_B.weight") || name.ends_with("lora_A.weight")
                     ? kohya(name)
                     : replaced(kohya(name), "alpha", end);
        },
        true, {{"ss_network_alpha", "9"}});
    expect_refused({"model.layers.", end});
  }
  write([](const std::string& name) { return replaced(kohya(name), "layers_1", "layers_7"); }, true);
  expect_refused({"lora_te_model_layers_7_"});
}

TEST_F(WeightsAdapter, ThatDoesNotExistSaysSo) { expect_refused({"a.safetensors", "No such file"}); }

}  // namespace
}  // namespace millrace::model
