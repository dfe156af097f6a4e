#include "checkpoint/hf_config.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/config_check.h"
#include "checkpoint/hf_rope.h"
#include "checkpoint/json_fields.h"
#include "checkpoint/quote_name.h"

namespace millrace::checkpoint {
namespace {

std::string read_architecture(const JsonFields& fields) {
  const nlohmann::json* list = fields.find("architectures");
  if (list == nullptr || !list->is_array() || list->empty() || !list->front().is_string()) {
    fields.wrong_type("architectures", "a list with the model's class");
  }
  return list->front().get<std::string>();
}

void reject_what_we_cannot_honour(const JsonFields& fields, std::string_view architecture) {
  constexpr std::string_view kUnderstood = "MiMoForCausalLM";  // its code is what we do with it
  if (fields.find("auto_map") != nullptr && architecture != kUnderstood) {
    fields.unsupported("auto_map", "the model needs Python code from its own repository, which is never run");
  }
  if (fields.find("quantization_config") != nullptr) {
    fields.unsupported("quantization_config",
                       "quantized safetensors are not supported; use the original or a GGUF file");
  }
  // Variants of GPT-2's attention that change its arithmetic.
  if (!fields.boolean("scale_attn_weights").value_or(true))
    fields.unsupported("scale_attn_weights", "false is not supported");
  for (const std::string_view key : {"scale_attn_by_inverse_layer_idx", "add_cross_attention"}) {
    if (fields.boolean(key).value_or(false)) fields.unsupported(key, "true is not supported");
  }
}

// One entry a layer: "sliding_attention" or "full_attention".
std::vector<bool> read_layer_types(const JsonFields& fields, const nlohmann::json& types) {
  if (!types.is_array()) fields.wrong_type("layer_types", "a list");
  std::vector<bool> windows;
  for (const nlohmann::json& type : types) {
    if (type != "sliding_attention" && type != "full_attention") {
      fields.unsupported("layer_types", "only full_attention and sliding_attention are supported, found " +
                                            quote_name(type.is_string() ? type.get<std::string>() : type.type_name()));
    }
    windows.push_back(type == "sliding_attention");
  }
  return windows;
}

void read_window(const JsonFields& fields, ModelConfig& config) {
  const std::int64_t window = fields.integer("sliding_window").value_or(0);
  // Qwen's classes ignore the window unless told otherwise; Mistral's has no such switch.
  const bool used = fields.boolean("use_sliding_window").value_or(!config.architecture.starts_with("Qwen"));
  if (!used || window == 0) return;
  config.sliding_window = window;
  if (const nlohmann::json* types = fields.find("layer_types")) {
    config.layer_uses_window = read_layer_types(fields, *types);
  } else if (const auto full_layers = fields.integer("max_window_layers")) {
    for (std::int64_t i = 0; i < config.n_layers; ++i) config.layer_uses_window.push_back(i >= *full_layers);
  }
  if (config.layer_uses_window.empty()) return;
  if (static_cast<std::int64_t>(config.layer_uses_window.size()) != config.n_layers) {
    throw_load_error(ErrorCode::kBadFile, "layer_types", "{}: layer_types: {} entries for {} layers", fields.file(),
                     config.layer_uses_window.size(), config.n_layers);
  }
  if (std::ranges::find(config.layer_uses_window, true) == config.layer_uses_window.end()) config.sliding_window = 0;
  const bool mixed = std::ranges::adjacent_find(config.layer_uses_window, std::ranges::not_equal_to()) !=
                     config.layer_uses_window.end();
  if (!mixed) config.layer_uses_window.clear();
}

// A number larger than any text is how some files say that there is no limit.
std::int64_t read_context_length(const JsonFields& fields) {
  constexpr std::string_view kKeys[] = {"max_position_embeddings", "n_positions", "n_ctx"};
  for (const std::string_view key : kKeys) {
    const nlohmann::json* value = fields.find(key);
    if (value == nullptr) continue;
    if (any_number(*value).value_or(0.0) > static_cast<double>(kMaxCount)) return kMaxCount;
    break;
  }
  return fields.required_integer({kKeys[0], kKeys[1], kKeys[2]});
}

void read_sizes(const JsonFields& fields, ModelConfig& config) {
  config.vocab_size = fields.required_integer({"vocab_size"});
  config.hidden_size = fields.required_integer({"hidden_size", "n_embd"});
  config.n_layers = fields.required_integer({"num_hidden_layers", "n_layer"});
  config.n_heads = fields.required_integer({"num_attention_heads", "n_head"});
  config.n_kv_heads = fields.integer("num_key_value_heads").value_or(config.n_heads);
  config.context_length = read_context_length(fields);
  check_count(fields.file(), "hidden_size", config.hidden_size);
  check_count(fields.file(), "num_hidden_layers", config.n_layers, kMaxLayers);
  check_count(fields.file(), "num_attention_heads", config.n_heads);
  const bool gpt2 = config.architecture == "GPT2LMHeadModel";
  const auto inner = fields.integer({"intermediate_size", "n_inner"});
  config.intermediate_size = inner || !gpt2 ? inner.value_or(0) : 4 * config.hidden_size;
  const auto head_dim = fields.integer("head_dim");
  if (!head_dim && config.hidden_size % config.n_heads != 0) {
    throw_load_error(ErrorCode::kBadFile, "num_attention_heads", "{}: hidden_size {} is not a multiple of {} heads",
                     fields.file(), config.hidden_size, config.n_heads);
  }
  config.head_dim = head_dim.value_or(config.hidden_size / config.n_heads);
  check_count(fields.file(), "head_dim", config.head_dim);
}

// A setting that Python wrote as NaN or Infinity is none: Transformers loads the model all the same.
bool is_setting(const JsonFields& fields, std::string_view key) {
  const nlohmann::json* value = fields.find(key);
  const auto number = value == nullptr ? std::nullopt : any_number(*value);
  if (!number || std::isfinite(*number)) return value != nullptr;
  log::warn("{}: {} is {}: left out", fields.file(), key, *number);
  return false;
}

std::optional<double> positive(const JsonFields& fields, std::string_view key) {
  if (!is_setting(fields, key)) return std::nullopt;
  const auto value = fields.number(key);
  if (*value < 0.0) fields.wrong_type(key, "a number from 0 on");
  return value;
}

// Numbers that are no id end no answer: -1 is a way to write "none".
void add_token_id(const JsonFields& fields, const nlohmann::json& value, std::vector<std::int32_t>& ids) {
  if (!any_number(value)) fields.wrong_type("eos_token_id", "token ids");
  const auto id = whole_number(value);
  if (id && *id >= 0 && *id <= INT32_MAX) ids.push_back(static_cast<std::int32_t>(*id));
}

}  // namespace

ModelConfig parse_hf_config(const std::string& file, std::string_view json) {
  const nlohmann::json object = parse_json_object(file, json);
  const JsonFields fields(file, object);
  ModelConfig config;
  config.architecture = read_architecture(fields);
  reject_what_we_cannot_honour(fields, config.architecture);
  config.name = fields.text("_name_or_path").value_or("");
  read_sizes(fields, config);
  const bool gpt2 = config.architecture == "GPT2LMHeadModel";
  const auto rms_eps = fields.number("rms_norm_eps");
  config.norm_eps = rms_eps ? *rms_eps : fields.number("layer_norm_epsilon").value_or(gpt2 ? 1e-5 : 1e-6);
  auto activation = fields.text("hidden_act");
  if (!activation) activation = fields.text("activation_function");
  config.activation = activation.value_or(gpt2 ? "gelu_new" : "silu");
  read_hf_rope(fields, config);
  read_window(fields, config);
  // Defaults of the model classes: only GPT-2 ties when nothing is said; Qwen2's q, k and v carry biases that no field
  // mentions.
  config.tie_word_embeddings = fields.boolean("tie_word_embeddings").value_or(gpt2);
  config.attention_bias = fields.boolean("attention_bias").value_or(gpt2 || config.architecture == "Qwen2ForCausalLM");
  config.mlp_bias = fields.boolean("mlp_bias").value_or(gpt2);
  check_model_config(file, config);
  return config;
}

GenerationDefaults parse_generation_config(const std::string& file, std::string_view json) {
  const nlohmann::json object = parse_json_object(file, json);
  const JsonFields fields(file, object);
  GenerationDefaults out;
  out.temperature = positive(fields, "temperature");
  out.top_p = positive(fields, "top_p");
  out.min_p = positive(fields, "min_p");
  out.repetition_penalty = positive(fields, "repetition_penalty");
  if (is_setting(fields, "top_k")) out.top_k = fields.integer("top_k");
  out.do_sample = fields.boolean("do_sample");
  const nlohmann::json* eos = fields.find("eos_token_id");
  if (eos == nullptr) return out;
  if (!eos->is_array()) {
    add_token_id(fields, *eos, out.eos_token_ids);
    return out;
  }
  for (const nlohmann::json& id : *eos) add_token_id(fields, id, out.eos_token_ids);
  return out;
}

}  // namespace millrace::checkpoint
