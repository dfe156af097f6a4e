// The fields of each family: none reads what it does not list, and none loads over what only others read.

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "checkpoint/testing/tiny_directory.h"
#include "model/config/read_config.h"
#include "model/make_spec.h"
#include "model/model_family.h"

namespace millrace::model {
namespace {

std::string outcome(const std::string& architecture, const nlohmann::json& changes) {
  nlohmann::json json = nlohmann::json::parse(checkpoint::kTinyConfig);
  json.update(changes);
  json["architectures"] = {architecture};
  checkpoint::Checkpoint checkpoint;
  checkpoint.container = checkpoint::Checkpoint::Container::kSafetensors;
  checkpoint.config = checkpoint::read_config_json("config.json", json.dump());
  const auto spec = make_spec(checkpoint);
  return spec ? "good" : spec.error().message;
}

TEST(FamilyFields, AFieldOfAnotherFamilyStopsTheLoad) {
  EXPECT_EQ(
      outcome("LlamaForCausalLM", {{"scale_attn_by_inverse_layer_idx", true}}),
      "config.json: scale_attn_by_inverse_layer_idx: a LlamaForCausalLM model does not have this, and other models "
      "change by it");
  EXPECT_EQ(outcome("GPT2LMHeadModel", {{"scale_attn_by_inverse_layer_idx", true}}),
            "config.json: scale_attn_by_inverse_layer_idx: true is not supported");
  EXPECT_NE(outcome("Qwen3ForCausalLM", {{"scale_attn_weights", false}}), "good");
  EXPECT_NE(outcome("LlamaForCausalLM", {{"num_nextn_predict_layers", 1}}), "good");
  EXPECT_EQ(outcome("MiMoForCausalLM", {{"num_nextn_predict_layers", 1}}), "good");
  EXPECT_NE(outcome("GPT2LMHeadModel", {{"partial_rotary_factor", 0.5}}), "good");
  EXPECT_EQ(outcome("LlamaForCausalLM", {{"partial_rotary_factor", 0.5}}), "good");
}

TEST(FamilyFields, NeutralValuesAndUnknownFieldsStopNothing) {
  for (const ModelFamily& family : all_families()) {
    EXPECT_EQ(outcome(std::string(family.hf.front()), {{"head_dim", 16},
                                                       {"rotary_dim", 8},
                                                       {"num_key_value_heads", 4},
                                                       {"scale_attn_weights", true},
                                                       {"add_cross_attention", false},
                                                       {"num_nextn_predict_layers", 0},
                                                       {"max_window_layers", 28},
                                                       {"use_sliding_window", false},
                                                       {"rope_scaling", nullptr},
                                                       {"some_unknown_field", 7}}),
              "good")
        << family.name;
  }
}

TEST(FamilyFields, OnlyMiMosCodeIsKnown) {
  const nlohmann::json code = {{"auto_map", {{"AutoModel", "modeling.Model"}}}};
  EXPECT_EQ(outcome("MiMoForCausalLM", code), "good");
  EXPECT_EQ(outcome("LlamaForCausalLM", code),
            "config.json: auto_map: the model needs Python code from its own repository, which is never run");
}

}  // namespace
}  // namespace millrace::model
