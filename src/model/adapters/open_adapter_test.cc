// Files of an adapter that change while they are read.

#include "model/adapters/open_adapter.h"

#include <gtest/gtest.h>

#include "base/memory_env.h"
#include "checkpoint/safetensors_writer.h"

namespace millrace::model {
namespace {

// A file of Kohya's scripts for one module, of which reading asks for the model's modules.
std::string kohya_file(std::int64_t rank) {
  const std::string module = "lora_te_model_layers_0_self_attn_q_proj.";
  const quant::QuantFormat* f32 = quant::find_format("f32");
  const std::vector<checkpoint::TensorSpec> specs = {{module + "alpha", f32, {1}},
                                                     {module + "lora_down.weight", f32, {rank, 8}},
                                                     {module + "lora_up.weight", f32, {8, rank}}};
  const std::vector<float> values(static_cast<std::size_t>(1 + 16 * rank), 1.0f);
  return checkpoint::safetensors_header_bytes({}, specs).or_throw() +
         std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

TEST(OpenAdapter, ReadsAFileAgainThatWasReplacedMeanwhile) {
  MemoryEnv env;
  env.files["a.safetensors"] = kohya_file(2);
  int asked = 0;
  const AdapterFiles files = open_adapter(env, "a.safetensors", [&] {
    if (++asked == 1) env.files["a.safetensors"] = kohya_file(3);
    return std::vector<std::string>{"model.layers.0.self_attn.q_proj"};
  });
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(files.config.rank("model.layers.0.self_attn.q_proj"), 3);
  EXPECT_EQ(files.tensors.find("model.layers.0.self_attn.q_proj.lora_A.weight")->shape, (Shape{3, 8}));
}

TEST(OpenAdapter, GivesUpOnAFileThatIsWrittenToAllTheTime) {
  MemoryEnv env;
  env.files["a.safetensors"] = kohya_file(2);
  int asked = 0;
  try {
    static_cast<void>(open_adapter(env, "a.safetensors", [&] {
      env.files["a.safetensors"] = kohya_file(3 + ++asked);
      return std::vector<std::string>{"model.layers.0.self_attn.q_proj"};
    }));
    ADD_FAILURE() << "it opens";
  } catch (const LoadError& failure) {
    EXPECT_EQ(failure.error().message, "a.safetensors: is written to while it is read");
  }
  EXPECT_EQ(asked, 3);
}

TEST(OpenAdapter, TakesAWholeMatrixThatIsThereUnderTwoNames) {
  MemoryEnv env;
  const quant::QuantFormat* f32 = quant::find_format("f32");
  const auto weights = [&](float second) {
    const std::vector<checkpoint::TensorSpec> specs = {
        {"base_model.model.lm_head.modules_to_save.weight", f32, {1, 2}},
        {"base_model.model.lm_head.weight", f32, {1, 2}},
        {"base_model.model.lm_head.original_module.weight", f32, {1, 2}}};
    const std::vector<float> values = {1.0f, 2.0f, 1.0f, second, 3.0f, 4.0f};
    return checkpoint::safetensors_header_bytes({}, specs).or_throw() +
           std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  };
  env.files = {{"a/adapter_config.json", R"({"peft_type": "LORA", "r": 4, "modules_to_save": ["lm_head"]})"},
               {"a/adapter_model.safetensors", weights(2.0f)}};
  const AdapterFiles files = open_adapter(env, "a");
  EXPECT_EQ(files.tensors.tensors.size(), 2u);
  EXPECT_NE(files.tensors.find("lm_head.weight"), nullptr);
  EXPECT_NE(files.tensors.find("lm_head.base_layer.weight"), nullptr);
  env.files["a/adapter_model.safetensors"] = weights(2.5f);
  EXPECT_THROW(static_cast<void>(open_adapter(env, "a")), LoadError);
}

}  // namespace
}  // namespace millrace::model
