#include "model/config/read_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/config_view.h"
#include "checkpoint/testing/tiny_directory.h"

namespace millrace::model {
namespace {

using checkpoint::kMaxCount;
using checkpoint::kTinyConfig;

nlohmann::json llama() { return nlohmann::json::parse(kTinyConfig); }

ModelConfig parse(const nlohmann::json& json) { return parse_hf_config("config.json", json.dump()); }

std::string outcome(const nlohmann::json& json) {
  try {
    parse(json);
    return "good";
  } catch (const LoadError& e) {
    return e.what();
  }
}

TEST(HfConfig, ReadsLlama) {
  const ModelConfig config = parse(llama());
  EXPECT_EQ(config.architecture, "LlamaForCausalLM");
  EXPECT_EQ(config.head_dim, 4);
  EXPECT_EQ(config.value_dim, 4);
  EXPECT_EQ(config.n_kv_heads, 2);
  EXPECT_EQ(config.norm_eps, 1e-6);
  EXPECT_EQ(config.rope.theta, 10000.0);
  EXPECT_EQ(config.activation, "silu");
  EXPECT_FALSE(config.tie_word_embeddings);
  EXPECT_EQ(config.rope.scaling.kind, RopeScaling::Kind::kNone);
}

TEST(HfConfig, ReadsGpt2Spellings) {
  const ModelConfig config = parse({{"architectures", {"GPT2LMHeadModel"}},
                                    {"vocab_size", 100},
                                    {"n_embd", 16},
                                    {"n_layer", 2},
                                    {"n_head", 4},
                                    {"n_positions", 32},
                                    {"n_ctx", 32},
                                    {"n_inner", nullptr},
                                    {"layer_norm_epsilon", 1e-4},
                                    {"activation_function", "gelu_new"}});
  EXPECT_EQ(config.hidden_size, 16);
  EXPECT_EQ(config.intermediate_size, 64);
  EXPECT_EQ(config.context_length, 32);
  EXPECT_EQ(config.n_kv_heads, 4);
  EXPECT_EQ(config.norm_eps, 1e-4);
  EXPECT_EQ(config.activation, "gelu_new");
  EXPECT_TRUE(config.tie_word_embeddings);
  EXPECT_TRUE(config.attention_bias);
}

TEST(HfConfig, ReadsRopeScalingInItsThreeForms) {
  auto json = llama();
  json["rope_theta"] = 500000.0;
  json["rope_scaling"] = {{"type", "linear"}, {"factor", 2.0}};
  EXPECT_EQ(parse(json).rope.scaling.kind, RopeScaling::Kind::kLinear);
  json["rope_scaling"] = {{"rope_type", "llama3"},
                          {"factor", 8},
                          {"low_freq_factor", 1.0},
                          {"high_freq_factor", 4.0},
                          {"original_max_position_embeddings", 8192}};
  EXPECT_EQ(parse(json).rope.scaling.kind, RopeScaling::Kind::kLlama3);
  EXPECT_EQ(parse(json).rope.scaling.original_context, 8192);
  EXPECT_EQ(parse(json).rope.theta, 500000.0);
  json.erase("rope_theta");
  json.erase("rope_scaling");
  json["rope_parameters"] = {{"rope_type", "yarn"}, {"factor", 4.0}, {"rope_theta", 1e6}, {"truncate", false}};
  EXPECT_EQ(parse(json).rope.scaling.kind, RopeScaling::Kind::kYarn);
  EXPECT_FALSE(parse(json).rope.scaling.truncate);
  EXPECT_EQ(parse(json).rope.theta, 1e6);
  json["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 1e6}, {"partial_rotary_factor", 0.5}};
  EXPECT_EQ(parse(json).rope.scaling.kind, RopeScaling::Kind::kNone);
  EXPECT_EQ(parse(json).rope.dim, 2);
  json["rope_parameters"] = {{"rope_type", "longer"}, {"factor", 4.0}};
  EXPECT_EQ(outcome(json), "config.json: rope_parameters.rope_type: rope scaling 'longer' is not supported");
  json["rope_parameters"] = {{"rope_type", "yarn"}};
  EXPECT_EQ(outcome(json), "config.json: rope_parameters.factor: expected a number, found nothing");
}

TEST(HfConfig, ReadsSlidingWindows) {
  auto json = llama();
  json["architectures"] = {"MistralForCausalLM"};
  json["sliding_window"] = 32;
  EXPECT_EQ(parse(json).sliding_window, 32);
  EXPECT_TRUE(parse(json).layer_uses_window.empty());
  json["sliding_window"] = nullptr;
  EXPECT_EQ(parse(json).sliding_window, 0);
  json["architectures"] = {"Qwen2ForCausalLM"};
  json["sliding_window"] = 32;
  json["max_window_layers"] = 3;
  EXPECT_EQ(parse(json).sliding_window, 0);  // not unless use_sliding_window says so
  json["use_sliding_window"] = true;
  EXPECT_EQ(parse(json).layer_uses_window, (std::vector<bool>{false, false, false, true}));
  json["max_window_layers"] = 4;
  EXPECT_EQ(parse(json).sliding_window, 0);
  json["layer_types"] = {"sliding_attention", "full_attention", "sliding_attention", "full_attention"};
  EXPECT_EQ(parse(json).layer_uses_window, (std::vector<bool>{true, false, true, false}));
  json["layer_types"] = {"sliding_attention"};
  EXPECT_EQ(outcome(json), "config.json: layer_types: 1 entries for 4 layers");
  json["layer_types"] = {"linear_attention"};
  EXPECT_NE(outcome(json).find("found 'linear_attention'"), std::string::npos);
}

TEST(HfConfig, NamesWhatIsMissingOrOfTheWrongType) {
  for (const std::string key :
       {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings"}) {
    auto json = llama();
    json.erase(key);
    EXPECT_EQ(outcome(json), "config.json: required field " + key + " is missing");
    json[key] = "9";
    EXPECT_EQ(outcome(json), "config.json: " + key + ": expected an integer below 2^63, found string");
    json[key] = -1;
    EXPECT_NE(outcome(json).find("found -1"), std::string::npos) << outcome(json);
  }
  auto json = llama();
  json.erase("architectures");
  EXPECT_EQ(outcome(json), "config.json: architectures: expected a list with the model's class, found nothing");
  json = llama();
  json["head_dim"] = 9223372036854775807;
  EXPECT_EQ(outcome(json), "config.json: head_dim: expected 1 to 2147483647, found 9223372036854775807");
  json = llama();
  json["num_attention_heads"] = 3;
  EXPECT_EQ(outcome(json), "config.json: num_attention_heads: hidden size 16 is not a multiple of 3 heads");
}

TEST(HfConfig, RefusesWhatIsNotJsonOrTooDeep) {
  const auto text_outcome = [](const std::string& text) -> std::string {
    try {
      parse_hf_config("config.json", text);
      return "good";
    } catch (const LoadError& e) {
      return e.what();
    }
  };
  EXPECT_EQ(text_outcome("{,"), "config.json: not valid JSON at byte 2");
  EXPECT_EQ(text_outcome("[]"), "config.json: a JSON object expected, found array");
  EXPECT_EQ(text_outcome("{\"a\":" + std::string(100000, '[')), "config.json: nested deeper than 64");
}

// As tests/oracle_files has them from Transformers and Python's json.
TEST(HfConfig, ReadsNumbersAsPythonWritesThem) {
  const auto with = [](const std::string& field, const std::string& value) {
    std::string text = llama().dump();
    text.insert(text.size() - 1, ",\"" + field + "\":" + value);
    return parse_hf_config("config.json", text);
  };
  const auto message = [&](const std::string& field, const std::string& value) -> std::string {
    try {
      with(field, value);
      return "good";
    } catch (const LoadError& e) {
      return e.what();
    }
  };
  for (const std::string value : {"NaN", "Infinity", "-Infinity", "1e400", "1000000000000000019884624838656",
                                  "[0.0, Infinity]", "\"\\ud800\"", "{\"__float__\": \"Infinity\"}"}) {
    EXPECT_EQ(message("some_unknown_field", value), "good") << value;
    EXPECT_EQ(with("some_unknown_field", value).hidden_size, 16) << value;
  }
  EXPECT_EQ(with("num_attention_heads", "2.0").n_heads, 2);
  EXPECT_EQ(with("max_position_embeddings", "512.0").context_length, 512);
  EXPECT_EQ(with("max_position_embeddings", "1000000000000000019884624838656").context_length, kMaxCount);
  EXPECT_EQ(message("num_attention_heads", "2.5"),
            "config.json: num_attention_heads: expected an integer below 2^63, found 2.5");
  EXPECT_EQ(message("vocab_size", "1e999"), "config.json: vocab_size: expected an integer below 2^63, found inf");
  EXPECT_EQ(message("rms_norm_eps", "NaN"), "config.json: rms_norm_eps: expected a positive number, found nan");
  EXPECT_EQ(message("head_dim", "\"NaN\""), "config.json: head_dim: expected an integer below 2^63, found string");
  const auto marked = parse_hf_config("config.json", "\xEF\xBB\xBF" + llama().dump());
  EXPECT_EQ(marked.hidden_size, 16);
}

}  // namespace
}  // namespace millrace::model
