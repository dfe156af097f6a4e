#include "model/adapters/adapter_names.h"

#include <gtest/gtest.h>

#include <map>

namespace millrace::model {
namespace {

TEST(AdapterNames, OfWrappersAndCheckpointsOfTrainingAreThoseOfPeft) {
  const std::string module = "model.layers.0.self_attn.q_proj";
  const std::map<std::string, std::string> names = {
      {"base_model.model." + module + ".lora_A.weight", module + ".lora_A.weight"},
      {"base_model.model.base_model.model." + module + ".lora_B.weight", module + ".lora_B.weight"},
      {"base_model.model." + module + ".lora_A.default.weight", module + ".lora_A.weight"},
      {"base_model.model." + module + ".lora_B.default.bias", module + ".lora_B.bias"},
      {"module.base_model.model." + module + ".lora_B.weight", module + ".lora_B.weight"},
      {"_orig_mod.base_model.model." + module + ".lora_B.weight", module + ".lora_B.weight"},
      {"base_model.model.model.layers.0._orig_mod.mlp._orig_mod.up_proj.lora_A.weight",
       "model.layers.0.mlp.up_proj.lora_A.weight"},
      {"base_model.model.model.embed_tokens.lora_embedding_A.default", "model.embed_tokens.lora_embedding_A"},
      {module + ".lora_magnitude_vector.default.weight", module + ".lora_magnitude_vector"},
      {module + ".lora_magnitude_vector.default", module + ".lora_magnitude_vector"},
      {"base_model.model.lm_head.modules_to_save.default.weight", "lm_head.weight"},
      {"base_model.model.lm_head.modules_to_save.weight", "lm_head.weight"},
      {module + ".lora_down.weight", module + ".lora_A.weight"},
      {module + ".lora.up.weight", module + ".lora_B.weight"},
      // what is none of these stays
      {module + ".base_layer.weight", module + ".base_layer.weight"},
      {"lm_head.modules_to_save.default.inner.weight", "lm_head.modules_to_save.default.inner.weight"},
      {module + ".lora_A.two.parts.weight", module + ".lora_A.two.parts.weight"},
      {"", ""},
      {"lora_A.", "lora_A."},
  };
  for (const auto& [found, plain] : names) EXPECT_EQ(plain_adapter_name(found), plain) << found;
}

TEST(AdapterNames, WithUnderscoresAreThoseOfTheModulesThatTheyMean) {
  const std::vector<std::string> modules = {"lm_head", "model.embed_tokens", "model.layers.1.self_attn.q_proj",
                                            "model.layers.11.self_attn.q_proj"};
  const std::map<std::string, std::string> names = {
      {"lora_te_model_layers_1_self_attn_q_proj.lora_A.weight", "model.layers.1.self_attn.q_proj.lora_A.weight"},
      {"lora_unet_layers_11_self_attn_q_proj.alpha", "model.layers.11.self_attn.q_proj.alpha"},
      {"lora_te_lm_head.lora_B.weight", "lm_head.lora_B.weight"},
      {"lycoris_model_embed_tokens.lora_A.weight", "model.embed_tokens.lora_A.weight"},
      {"lora_te_model_layers_2_self_attn_q_proj.alpha", "lora_te_model_layers_2_self_attn_q_proj.alpha"},
      {"model.layers.1.self_attn.q_proj.lora_A.weight", "model.layers.1.self_attn.q_proj.lora_A.weight"},
      {"lora_te_", "lora_te_"},
      {"_", "_"},
  };
  for (const auto& [found, plain] : names) EXPECT_EQ(unflattened_name(found, modules), plain) << found;
}

}  // namespace
}  // namespace millrace::model
