#include "checkpoint/gguf_config.h"

#include <cmath>

#include "base/error.h"
#include "checkpoint/quote_name.h"

namespace millrace::checkpoint {
namespace {

// GGUF does not store the activation: it follows from the architecture.
std::string activation_of(const std::string& architecture) { return architecture == "gpt2" ? "gelu_new" : "silu"; }

std::int64_t required_uniform(const GgufMetadata& metadata, const std::string& key) {
  const auto value = metadata.uniform_integer(key);
  return value ? *value : metadata.required_integer(key);
}

double norm_epsilon(const GgufMetadata& metadata, const std::string& prefix) {
  if (const auto eps = metadata.number(prefix + "attention.layer_norm_epsilon")) return *eps;
  return metadata.required_number(prefix + "attention.layer_norm_rms_epsilon");
}

RopeScaling rope_scaling(const GgufMetadata& metadata, const std::string& prefix) {
  RopeScaling scaling;
  const std::string key = prefix + "rope.scaling.";
  const auto old_linear = metadata.number(prefix + "rope.scale_linear");
  const std::string type = metadata.text(key + "type").value_or(old_linear ? "linear" : "none");
  if (type == "none") return scaling;
  if (type != "linear" && type != "yarn") {
    throw_load_error(ErrorCode::kUnsupported, key + "type", "{}: key {}: rope scaling {} is not supported",
                     metadata.file(), quote_name(key + "type"), quote_name(type));
  }
  scaling.kind = type == "linear" ? RopeScaling::Kind::kLinear : RopeScaling::Kind::kYarn;
  scaling.factor = old_linear ? *old_linear : metadata.number(key + "factor").value_or(1.0);
  scaling.original_context = metadata.integer(key + "original_context_length").value_or(0);
  scaling.beta_fast = metadata.number(key + "yarn_beta_fast").value_or(scaling.beta_fast);
  scaling.beta_slow = metadata.number(key + "yarn_beta_slow").value_or(scaling.beta_slow);
  auto factor = metadata.number(key + "attn_factor");
  if (!factor) factor = metadata.number(key + "yarn_attn_factor");
  // GGUF's factor multiplies YaRN's own magnitude; ours replaces it.
  if (factor) scaling.attention_factor = *factor * (scaling.factor > 1.0 ? 0.1 * std::log(scaling.factor) + 1.0 : 1.0);
  return scaling;
}

// A bool a layer; models with a period instead state it as an integer, which not all architectures read alike.
std::vector<bool> window_layers(const GgufMetadata& metadata, const std::string& key) {
  const GgufValue* value = metadata.find(key);
  if (value == nullptr) return {};
  const auto* array = std::get_if<GgufArray>(value);
  const auto* layers = array == nullptr ? nullptr : std::get_if<std::vector<bool>>(&array->elements);
  if (layers == nullptr) {
    throw_load_error(ErrorCode::kUnsupported, key, "{}: key {}: expected array of bool, found {}", metadata.file(),
                     quote_name(key), gguf_type_name(*value));
  }
  return *layers;
}

void read_heads(const GgufMetadata& metadata, const std::string& prefix, ModelConfig& config) {
  config.n_heads = required_uniform(metadata, prefix + "attention.head_count");
  config.n_kv_heads = metadata.uniform_integer(prefix + "attention.head_count_kv").value_or(config.n_heads);
  const auto key_length = metadata.integer(prefix + "attention.key_length");
  if (!key_length && (config.n_heads < 1 || config.hidden_size % config.n_heads != 0)) {
    throw_load_error(ErrorCode::kBadFile, prefix + "attention.head_count",
                     "{}: key '{}attention.head_count': embedding length {} is not a multiple of {} heads",
                     metadata.file(), prefix, config.hidden_size, config.n_heads);
  }
  config.head_dim = key_length ? *key_length : config.hidden_size / config.n_heads;
  const auto value_length = metadata.integer(prefix + "attention.value_length");
  if (value_length && *value_length != config.head_dim) {
    throw_load_error(ErrorCode::kUnsupported, prefix + "attention.value_length",
                     "{}: key '{}attention.value_length': {}, but keys have {}: not supported", metadata.file(), prefix,
                     *value_length, config.head_dim);
  }
  config.rope_dim = metadata.integer(prefix + "rope.dimension_count").value_or(config.head_dim);
}

}  // namespace

ModelConfig gguf_config(const GgufMetadata& metadata) {
  ModelConfig config;
  config.architecture = metadata.required_text("general.architecture");
  config.name = metadata.text("general.name").value_or("");
  const std::string prefix = config.architecture + ".";
  config.context_length = metadata.required_integer(prefix + "context_length");
  config.hidden_size = metadata.required_integer(prefix + "embedding_length");
  config.n_layers = metadata.required_integer(prefix + "block_count");
  config.intermediate_size = required_uniform(metadata, prefix + "feed_forward_length");
  read_heads(metadata, prefix, config);
  config.norm_eps = norm_epsilon(metadata, prefix);
  config.rope_theta = metadata.number(prefix + "rope.freq_base").value_or(config.rope_theta);
  config.rope_scaling = rope_scaling(metadata, prefix);
  config.sliding_window = metadata.integer(prefix + "attention.sliding_window").value_or(0);
  config.layer_uses_window = window_layers(metadata, prefix + "attention.sliding_window_pattern");
  const auto tokens = static_cast<std::int64_t>(metadata.string_count("tokenizer.ggml.tokens"));
  const auto vocab_size = metadata.integer(prefix + "vocab_size");
  config.vocab_size = vocab_size ? *vocab_size : tokens;
  if (config.vocab_size < tokens) {
    throw_load_error(ErrorCode::kBadFile, prefix + "vocab_size",
                     "{}: key '{}vocab_size': {}, but the tokenizer has {} tokens", metadata.file(), prefix,
                     config.vocab_size, tokens);
  }
  config.activation = activation_of(config.architecture);
  return config;
}

}  // namespace millrace::checkpoint
