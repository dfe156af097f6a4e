// Golden files of families with one thing wrong: rejected whole, naming the field or the tensor.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "model/testing/runner.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path kFamilies = fs::path(MILLRACE_TEST_DATA) / "../golden/families";

// Loads the family with the configuration that `change` makes of its own.
std::string outcome(const std::string& family, const std::function<void(Json&)>& change) {
  const fs::path folder = fs::path(testing::TempDir()) / fmt::format("bad_{}_{}", family, ::getpid());
  fs::create_directories(folder);
  Json config = Json::parse(std::ifstream(kFamilies / family / "config.json"));
  change(config);
  std::ofstream(folder / "config.json") << config;
  fs::copy_file(kFamilies / family / "model.safetensors", folder / "model.safetensors",
                fs::copy_options::overwrite_existing);
  std::string message = "good";
  try {
    TestRunner runner(folder, {.max_length = 32});
  } catch (const LoadError& failure) {
    message = failure.error().message;
    if (const auto at = message.find(folder.string()); at != std::string::npos) {
      message.erase(at, folder.string().size());
    }
  }
  fs::remove_all(folder);
  return message;
}

TEST(BadFamilyFiles, AreRejectedByTheirFields) {
  const auto with = [](const char* family, const char* field, const Json& value) {
    return outcome(family, [&](Json& config) { config[field] = value; });
  };
  EXPECT_EQ(outcome("exaone4", [](Json&) {}), "good");
  EXPECT_EQ(with("exaone4", "layer_types", {"full_attention", "sliding_attention"}),
            "/config.json: layer_types: 2 entries for 3 layers");
  EXPECT_EQ(
      with("exaone4", "layer_types", {"full_attention", "sliding_attention", "linear_attention"}),
      "/config.json: layer_types: only full_attention and sliding_attention are supported, found 'linear_attention'");
  EXPECT_EQ(with("gemma2", "sliding_window", 0), "/config.json: sliding_window: expected 1 to 2147483647, found 0");
  EXPECT_EQ(with("gemma2", "attn_logit_softcapping", -50.0),
            "/config.json: attn_logit_softcapping: expected a positive number, found -50");
  EXPECT_EQ(with("smollm3", "no_rope_layers", {1, 1}), "/config.json: no_rope_layers: 2 entries for 4 layers");
  EXPECT_EQ(with("granite_swa", "layer_rope_theta", {10000.0}),
            "/config.json: layer_rope_theta: 1 entries for 3 layers");
  EXPECT_EQ(with("openelm", "ffn_multipliers", {0.5}), "/config.json: ffn_multipliers: 1 entries for 3 layers");
  EXPECT_EQ(with("openelm", "num_query_heads", {2, 4}), "/config.json: num_query_heads: 2 entries for 3 layers");
  EXPECT_EQ(outcome("modernbert_decoder",
                    [](Json& config) {
                      config.erase("sliding_window");
                      config["layer_types"].erase(0);
                    }),
            "/config.json: layer_types: 2 entries for 3 layers");
  EXPECT_EQ(with("nanbeige", "num_loops", 0), "/config.json: num_loops: expected 1 to 2048, found 0");
  EXPECT_EQ(with("nanbeige", "num_loops", 2049), "/config.json: num_loops: expected 1 to 2048, found 2049");
  EXPECT_EQ(with("gpt_neo", "attention_types", Json::parse(R"([[["global", "local"], 7]])")),
            "/config.json: attention_types: expected 1 to 2 times");
}

TEST(BadFamilyFiles, VariantsOfFamiliesWithCodeOfTheirOwnAreRejected) {
  const auto with = [](const char* family, const char* field, const Json& value) {
    return outcome(family, [&](Json& config) { config[field] = value; });
  };
  EXPECT_EQ(with("chatglm", "rmsnorm", false), "/config.json: rmsnorm: false is not supported");
  EXPECT_EQ(with("chatglm", "position_encoding_2d", true), "/config.json: position_encoding_2d: true is not supported");
  EXPECT_EQ(with("chatglm", "pre_seq_len", 128), "/config.json: pre_seq_len: prefixes of P-tuning are not supported");
  EXPECT_EQ(with("jais", "position_embedding_type", "learned"),
            "/config.json: position_embedding_type: only alibi is supported");
  EXPECT_EQ(with("minicpm", "sparse_config", Json::array()), "/config.json: sparse_config: expected an object");
  EXPECT_EQ(with("minicpm", "sparse_config", {{"dense_len", 0}}),
            "/config.json: sparse_config.dense_len: expected 2 or more: attention over chosen blocks is not supported, "
            "found 0");
  EXPECT_EQ(with("granite_hybrid", "num_local_experts", 4),
            "/config.json: num_local_experts: experts are not supported");
  EXPECT_EQ(with("granite_hybrid", "layer_types", {"attention", "mamba"}),
            "/config.json: layer_types: only full_attention and sliding_attention are supported, found 'mamba'");
  EXPECT_EQ(with("spark2_5", "headwise_attn_output_gate", false),
            "/config.json: headwise_attn_output_gate: only true is supported");
  EXPECT_EQ(with("spark2_5", "gate_attn_act_mode", "silu"),
            "/config.json: gate_attn_act_mode: only sigmoid is supported");
  EXPECT_EQ(with("plamo", "n_shared_head", 3),
            "n_heads is 10: must be 1 or more, and a multiple of the key/value heads");
  EXPECT_EQ(with("plamo3", "window_size", 0), "/config.json: window_size: expected 1 to 2147483647, found 0");
  EXPECT_EQ(with("plamo3", "initial_context_length", nullptr),
            "/config.json: required field initial_context_length is missing");
  const auto with_block = [](const char* part, const char* field, const Json& value) {
    return outcome("deci", [&](Json& config) { config["block_configs"][2][part][field] = value; });
  };
  EXPECT_EQ(with_block("attention", "window_length", 64),
            "/config.json: attention.window_length: only null is supported");
  EXPECT_EQ(with_block("attention", "n_heads_in_group", 3),
            "/config.json: attention.n_heads_in_group: expected a divisor of the number of heads, found 3");
  EXPECT_EQ(outcome("deci", [](Json& config) { config["block_configs"].erase(0); }),
            "/config.json: block_configs: expected a list of 4 objects");
}

TEST(BadFamilyFiles, VariantsOfMixturesAreRejected) {
  const auto with = [](const char* family, const char* field, const Json& value) {
    return outcome(family, [&](Json& config) { config[field] = value; });
  };
  EXPECT_EQ(with("hunyuan_v1_moe", "moe_topk", {2, 3}),
            "/config.json: moe_topk: layers that differ in it are not supported");
  EXPECT_EQ(with("laguna", "mlp_layer_types", {"dense", "sparse"}),
            "/config.json: mlp_layer_types: expected a list of 3 layers");
  EXPECT_EQ(with("exaone_moe", "mlp_layer_types", {"dense", "sparse", "linear"}),
            "/config.json: mlp_layer_types: only dense and sparse are supported");
  EXPECT_EQ(with("laguna", "moe_apply_router_weight_on_input", true),
            "/config.json: moe_apply_router_weight_on_input: true is not supported");
  EXPECT_EQ(with("mimo_v2", "swa_head_dim", 8), "/config.json: swa_head_dim: it must be the size of other layers");
  EXPECT_EQ(with("cohere2_moe", "expert_selection_fn", "relu"),
            "/config.json: expert_selection_fn: only softmax and sigmoid are supported");
  EXPECT_EQ(with("glm4_moe", "n_group", 4), "n_group is 4: must be a divisor of the 6 experts");
  EXPECT_EQ(with("mixtral", "num_experts_per_tok", 7), "num_experts_per_tok is 7: must be in [1, 6], the experts");
  EXPECT_EQ(with("mixtral", "num_local_experts", 5000), "num_experts is 5000: must be in [2, 1024]");
  EXPECT_EQ(with("glm4_moe_qk_norm", "topk_group", 1), "topk_group is 1: must be in [1, 4], with 3 experts in them");
  EXPECT_EQ(with("mixtral", "layer_types", {"chunked_attention", "full_attention"}),
            "/config.json: layer_types: only full_attention and sliding_attention are supported, found "
            "'chunked_attention'");
}

TEST(BadFamilyFiles, FactorsMustBeOnePairOfDimensionsEach) {
  const auto with = [](const char* list, const Json& factors) {
    return outcome("phi3_longrope", [&](Json& config) { config["rope_parameters"][list] = factors; });
  };
  EXPECT_EQ(with("short_factor", {1.0, 2.0, 3.0}),
            "/config.json: rope scaling short_factor: 3 factors for 8 rotated dimensions, expected 4");
  EXPECT_EQ(with("long_factor", {1.0, 2.0, 3.0, 4.0, 5.0}),
            "/config.json: rope scaling long_factor: 5 factors for 8 rotated dimensions, expected 4");
  EXPECT_EQ(with("long_factor", {1.0, 2.0, 0.0, 4.0}),
            "/config.json: rope scaling long_factor: expected a positive number, found 0");
  EXPECT_EQ(with("long_factor", "none"),
            "/config.json: rope_parameters.long_factor: expected a list of numbers, found string");
}

TEST(BadFamilyFiles, FusedTensorsMustHaveTheRowsOfTheirParts) {
  EXPECT_EQ(outcome("phi3", [](Json& config) { config["num_key_value_heads"] = 3; }),
            ": tensor 'model.layers.0.self_attn.qkv_proj.weight' has shape [80, 48]; expected [96, 48]");
  EXPECT_EQ(outcome("phi3", [](Json& config) { config["intermediate_size"] = 22; }),
            ": tensor 'model.layers.0.mlp.gate_up_proj.weight' has shape [40, 48]; expected [44, 48]");
  EXPECT_EQ(outcome("codegen", [](Json& config) { config["n_head"] = 6; }),
            "n_heads is 6: must be a multiple of 4 and the number of key/value heads");
}

// A tower of images without the text model that the configuration promises.
TEST(BadFamilyFiles, OtherModalitiesAloneAreNoModel) {
  const auto checkpoint = checkpoint::open_checkpoint(Env::system(), (kFamilies / "gemma3").string()).or_throw();
  std::erase_if(checkpoint->tensors, [](const auto& tensor) { return tensor.name.starts_with("language_model."); });
  checkpoint->tensor_index.clear();
  for (std::size_t i = 0; i < checkpoint->tensors.size(); ++i)
    checkpoint->tensor_index[checkpoint->tensors[i].name] = i;
  const auto backend = backend::make_test_backend(1);
  try {
    Transformer transformer(*checkpoint, make_spec(*checkpoint).or_throw(), *backend, {});
    FAIL() << "loaded";
  } catch (const LoadError& failure) {
    EXPECT_NE(failure.error().message.find("tensor 'model.embed_tokens.weight' is missing"), std::string::npos)
        << failure.error().message;
  }
}

}  // namespace
}  // namespace millrace::model
