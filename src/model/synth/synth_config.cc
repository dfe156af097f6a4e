#include "model/synth/synth_config.h"

#include <string>
#include <utility>

#include "checkpoint/gguf_file_type.h"

namespace millrace::model {
namespace {

using checkpoint::GgufEntry;

GgufEntry further_entry(const ModelConfig& config, const std::string& name, const nlohmann::json& value) {
  if (name.starts_with(':')) {
    const std::vector<float> numbers(static_cast<std::size_t>(config.n_layers), value.get<float>());
    return {name.substr(1), checkpoint::GgufArray{numbers}};
  }
  const std::string key = config.architecture + "." + name;
  if (value.is_string()) return {key, value.get<std::string>()};
  if (value.is_boolean()) return {key, value.get<bool>()};
  if (value.is_number_integer()) return {key, value.get<std::uint32_t>()};
  return {key, value.get<float>()};
}

}  // namespace

std::vector<GgufEntry> synth_gguf_entries(const SynthModel& model) {
  const ModelConfig& config = model.config;
  std::vector<GgufEntry> entries = {{"general.architecture", config.architecture},
                                    {"general.type", std::string("model")},
                                    {"general.name", config.name},
                                    {"general.file_type", checkpoint::gguf_file_type(model.options.format->name)},
                                    {"general.quantization_version", std::uint32_t{2}}};
  const auto count = [&](const char* key, std::int64_t value) {
    entries.emplace_back(config.architecture + "." + key, static_cast<std::uint32_t>(value));
  };
  const auto number = [&](const char* key, double value) {
    entries.emplace_back(config.architecture + "." + key, static_cast<float>(value));
  };
  count("block_count", config.n_layers);
  count("context_length", config.context_length);
  count("embedding_length", config.hidden_size);
  count("feed_forward_length", config.intermediate_size);
  count("attention.head_count", config.n_heads);
  count("attention.head_count_kv", config.n_kv_heads);
  count("attention.key_length", config.head_dim);
  count("attention.value_length", config.value_dim);
  count("vocab_size", config.vocab_size);
  if (config.rope.dim > 0) {
    count("rope.dimension_count", config.rope.dim);
    number("rope.freq_base", config.rope.theta);
  }
  number("attention.layer_norm_rms_epsilon", config.norm_eps);
  for (const auto& [key, value] : model.further.items()) {
    entries.push_back(further_entry(config, key, value));
  }
  const auto& tokenizer = model.options.tokenizer.entries;
  if (tokenizer.empty()) entries.emplace_back("tokenizer.ggml.model", std::string("none"));  // llama.cpp wants it said
  entries.insert(entries.end(), tokenizer.begin(), tokenizer.end());
  return entries;
}

nlohmann::ordered_json synth_config_json(const SynthModel& model, const nlohmann::ordered_json& ids) {
  const ModelConfig& config = model.config;
  nlohmann::ordered_json json = {{"architectures", {config.architecture}},
                                 {"model_type", model.family},
                                 {"_name_or_path", config.name},
                                 {"hidden_size", config.hidden_size},
                                 {"intermediate_size", config.intermediate_size},
                                 {"num_hidden_layers", config.n_layers},
                                 {"num_attention_heads", config.n_heads},
                                 {"num_key_value_heads", config.n_kv_heads},
                                 {"head_dim", config.head_dim},
                                 {"hidden_act", config.activation},
                                 {"max_position_embeddings", config.context_length},
                                 {"rms_norm_eps", config.norm_eps},
                                 {"vocab_size", config.vocab_size},
                                 {"tie_word_embeddings", config.tie_word_embeddings},
                                 {"attention_bias", false},
                                 {"use_cache", true}};
  if (config.rope.dim > 0) json["rope_theta"] = config.rope.theta;
  const std::string_view dtype = model.options.format->name;
  json["torch_dtype"] = dtype == "bf16" ? "bfloat16" : dtype == "f16" ? "float16" : "float32";
  json.update(model.further);
  json.update(ids);
  return json;
}

}  // namespace millrace::model
