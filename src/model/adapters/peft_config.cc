#include "model/adapters/peft_config.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>

#include "base/error.h"
#include "base/strict_json.h"
#include "checkpoint/json_fields.h"
#include "checkpoint/quote_name.h"
#include "model/adapters/target_parameters.h"
#include "model/weights/module_pattern.h"

namespace millrace::model {
namespace {

using checkpoint::JsonFields;

constexpr std::int64_t kMaxRank = 1024;
constexpr std::int64_t kDefaultRank = 8;
constexpr std::size_t kMaxReplicated = 4096;  // layers

// Fields that say how an adapter was trained, or which weights it has, which its tensors say too.
constexpr std::string_view kWithoutEffect[] = {
    "task_type", "auto_mapping", "base_model_name_or_path", "revision", "inference_mode", "lora_dropout",
    "target_modules", "exclude_modules", "layers_to_transform", "layers_pattern", "loftq_config", "eva_config",
    "velora_config", "runtime_config", "ensure_weight_tying", "fan_in_fan_out", "qalora_group_size",
    // Unsloth and other tools
    "auto_map", "base_model_class", "parent_library", "unsloth_fixed", "lora_ga_config"};
// Fields that are read.
constexpr std::string_view kRead[] = {"peft_type",
                                      "r",
                                      "lora_alpha",
                                      "use_rslora",
                                      "rank_pattern",
                                      "alpha_pattern",
                                      "init_lora_weights",
                                      "bias",
                                      "use_dora",
                                      "lora_bias",
                                      "modules_to_save",
                                      "trainable_token_indices",
                                      "alora_invocation_tokens",
                                      "target_parameters",
                                      "peft_version",
                                      "layer_replication"};

struct Unsupported {
  std::string_view field, what;
};
// Fields that change what an adapter computes.
constexpr Unsupported kUnsupported[] = {
    {"use_qalora", "QA-LoRA"},
    {"use_bdlora", "block-diagonal LoRA"},
    {"arrow_config", "routing among adapters"},
    {"monteclora_config", "MonteCLoRA"},
    {"kasa_config", "KaSA"},
    {"corda_config", "CorDA, which changes the base's weights"},
    {"megatron_config", "Megatron's layers"},
};

// Whether the value is one that switches nothing on.
bool is_neutral(const nlohmann::json& value) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number()) return value == 0;
  return value.is_null() || (!value.is_primitive() && value.empty()) || (value.is_string() && value == "");
}

template <typename List>
bool has(const List& list, std::string_view name) {
  for (const auto& one : list) {
    if (one == name) return true;
  }
  return false;
}

// Ways of beginning that subtract the first B A from the base's weights, so that the adapter fits these alone.
void check_initialization(const JsonFields& fields) {
  const nlohmann::json* value = fields.find("init_lora_weights");
  if (value == nullptr || !value->is_string()) return;
  const auto name = value->get<std::string>();
  for (const std::string_view changing : {"pissa", "olora", "corda", "loftq", "lora_ga"}) {
    if (!name.starts_with(changing)) continue;
    throw_load_error(ErrorCode::kUnsupported, "init_lora_weights",
                     "{}: init_lora_weights is '{}', which changes the base's weights too; save the adapter with "
                     "path_initial_model_for_weight_conversion, which makes it one of the base as it is",
                     fields.file(), name);
  }
}

void check_fields(const JsonFields& fields, const nlohmann::json& json) {
  for (const Unsupported& unsupported : kUnsupported) {
    const nlohmann::json* value = fields.find(unsupported.field);
    if (value == nullptr || is_neutral(*value)) continue;
    throw_load_error(ErrorCode::kUnsupported, std::string(unsupported.field), "{}: {} is set: {} is not supported",
                     fields.file(), unsupported.field, unsupported.what);
  }
  const auto bias = fields.text("bias").value_or("none");
  if (bias != "none" && bias != "all" && bias != "lora_only") {
    throw_load_error(ErrorCode::kBadFile, "bias", "{}: bias is '{}', must be 'none', 'all' or 'lora_only'",
                     fields.file(), bias);
  }
  const auto known = [&](const std::string& name) {
    if (has(kWithoutEffect, name) || has(kRead, name)) return true;
    for (const Unsupported& unsupported : kUnsupported) {
      if (unsupported.field == name) return true;
    }
    return name == "megatron_core";
  };
  for (const auto& [name, value] : json.items()) {
    if (known(name) || is_neutral(value)) continue;
    throw_load_error(ErrorCode::kUnsupported, name, "{}: field '{}' is not known, and may change what the adapter does",
                     fields.file(), name);
  }
}

// Where several fit, the first one in the file counts, of which a sorted object knows nothing.
std::vector<std::pair<std::string, double>> patterns_of(const JsonFields& fields, std::string_view text,
                                                        const std::string& name, bool whole) {
  std::vector<std::pair<std::string, double>> patterns;
  if (!fields.object(name)) return patterns;
  const auto ordered = nlohmann::ordered_json::parse(strict_json(text), nullptr, false);
  if (ordered.is_discarded()) fields.wrong_type(name, "plain JSON");
  for (const auto& [module, value] : ordered[name].items()) {
    const bool fits = value.is_number() && value > 0 && (!whole || (value.is_number_integer() && value <= kMaxRank));
    if (!fits) fields.wrong_type(name, whole ? "ranks from 1 to 1024" : "numbers above 0");
    const std::string expression = "re:(.*\\.)?(" + module + ")$";
    try {
      static_cast<void>(ModulePattern(expression));
    } catch (const std::invalid_argument& failure) {
      throw_load_error(ErrorCode::kBadFile, name, "{}: {}: '{}' is no regular expression: {}", fields.file(), name,
                       module, failure.what());
    }
    patterns.emplace_back(expression, value.get<double>());
  }
  return patterns;
}

// [5, 7], or {"embed_tokens": [5, 7]}.
std::vector<std::pair<std::string, std::vector<std::int64_t>>> indices_of(const JsonFields& fields) {
  constexpr std::string_view kField = "trainable_token_indices";
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> all;
  const nlohmann::json* value = fields.find(kField);
  if (value == nullptr || value->is_null()) return all;
  const auto add = [&](const std::string& module, const nlohmann::json& list) {
    std::vector<std::int64_t> indices;
    for (const nlohmann::json& index : list) {
      if (!index.is_number_unsigned() || index > std::numeric_limits<std::int32_t>::max()) {
        fields.wrong_type(kField, "lists of tokens");
      }
      indices.push_back(index.get<std::int64_t>());
    }
    all.emplace_back(module, std::move(indices));
  };
  if (value->is_array()) {
    add("", *value);
  } else if (value->is_object()) {
    for (const auto& [module, list] : value->items()) {
      if (!list.is_array()) fields.wrong_type(kField, "lists of tokens");
      add(module, list);
    }
  } else {
    fields.wrong_type(kField, "a list of tokens, or lists by module");
  }
  return all;
}

// What an activated adapter has beside A and B is not only for the tokens from its invocation on.
std::vector<std::int32_t> invocation_of(const JsonFields& fields) {
  constexpr std::string_view kField = "alora_invocation_tokens";
  const nlohmann::json* value = fields.find(kField);
  if (value == nullptr || is_neutral(*value)) return {};
  if (!value->is_array()) fields.wrong_type(kField, "a list of tokens");
  std::vector<std::int32_t> tokens;
  for (const nlohmann::json& token : *value) {
    if (!token.is_number_unsigned() || token > std::numeric_limits<std::int32_t>::max()) {
      fields.wrong_type(kField, "a list of tokens");
    }
    tokens.push_back(token.get<std::int32_t>());
  }
  for (const std::string_view field : {"use_dora", "modules_to_save", "trainable_token_indices", "bias"}) {
    const nlohmann::json* other = fields.find(field);
    if (other == nullptr || is_neutral(*other) || *other == "none") continue;
    throw_load_error(ErrorCode::kUnsupported, std::string(kField), "{}: {} and {} are both set, which is not supported",
                     fields.file(), kField, field);
  }
  return tokens;
}

std::vector<std::string> names_of(const JsonFields& fields, const std::string& name, const char* what) {
  std::vector<std::string> names;
  const nlohmann::json* list = fields.find(name);
  if (list == nullptr || list->is_null()) return names;
  if (!list->is_array()) fields.wrong_type(name, what);
  for (const nlohmann::json& one : *list) {
    if (!one.is_string()) fields.wrong_type(name, what);
    names.push_back(one.get<std::string>());
  }
  return names;
}

// Until 0.19, and in files without a version, which is older.
bool wrote_inputs_first(const JsonFields& fields) {
  constexpr int kFirstThatLooks = 19;
  const std::string version = fields.text("peft_version").value_or("0.0");
  int minor = 0;
  const char* end = version.data() + version.size();
  if (!version.starts_with("0.")) return false;
  return std::from_chars(version.data() + 2, end, minor).ec == std::errc() && minor < kFirstThatLooks;
}

// [[0, 4], [2, 5]]
LayerReplication layers_of(const JsonFields& fields) {
  constexpr std::string_view kField = "layer_replication";
  constexpr const char* kExpected = "ranges [first, end) of layers, of at most 4096 together";
  LayerReplication layers;
  const nlohmann::json* value = fields.find(kField);
  if (value == nullptr || value->is_null()) return layers;
  if (!value->is_array()) fields.wrong_type(kField, kExpected);
  std::size_t count = 0;
  for (const nlohmann::json& range : *value) {
    const bool pair = range.is_array() && range.size() == 2 && range[0].is_number_unsigned() &&
                      range[1].is_number_unsigned() && range[0] < range[1] && range[1] <= kMaxReplicated;
    if (!pair) fields.wrong_type(kField, kExpected);
    layers.emplace_back(range[0].get<std::int64_t>(), range[1].get<std::int64_t>());
    count += static_cast<std::size_t>(layers.back().second - layers.back().first);
    if (count > kMaxReplicated) fields.wrong_type(kField, kExpected);
  }
  return layers;
}

}  // namespace

PeftConfig::PeftConfig(const std::string& file, std::map<std::string, Module> modules,
                       std::vector<std::int32_t> invocation_tokens)
    : invocation_tokens_(std::move(invocation_tokens)), modules_(std::move(modules)) {
  for (const auto& [name, module] : modules_) {
    if (module.rank >= 1 && module.rank <= kMaxRank && std::isfinite(module.scale)) continue;
    throw_load_error(ErrorCode::kBadFile, name, "{}: module {} has rank {} and scale {}: rank must be 1 to {}", file,
                     checkpoint::quote_name(name), module.rank, module.scale, kMaxRank);
  }
}

PeftConfig::PeftConfig(const std::string& file, std::string_view text) {
  const nlohmann::json json = checkpoint::parse_json_object(file, text);
  const JsonFields fields(file, json);
  const auto type = fields.text("peft_type").value_or("");
  if (type != "LORA") {
    throw_load_error(ErrorCode::kUnsupported, "peft_type", "{}: peft_type is '{}', must be 'LORA'", file, type);
  }
  rank_ = fields.integer("r").value_or(kDefaultRank);
  if (rank_ < 1 || rank_ > kMaxRank) {
    throw_load_error(ErrorCode::kBadFile, "r", "{}: r is {}, must be 1 to {}", file, rank_, kMaxRank);
  }
  alpha_ = fields.number("lora_alpha").value_or(kDefaultRank);
  if (!std::isfinite(alpha_)) {
    throw_load_error(ErrorCode::kBadFile, "lora_alpha", "{}: lora_alpha is {}, must be finite", file, alpha_);
  }
  rank_stabilized_ = fields.boolean("use_rslora").value_or(false);
  dora_ = fields.boolean("use_dora").value_or(false);
  lora_bias_ = fields.boolean("lora_bias").value_or(false);
  token_indices_ = indices_of(fields);
  invocation_tokens_ = invocation_of(fields);
  layers_ = layers_of(fields);
  modules_to_save_ = names_of(fields, "modules_to_save", "a list of modules");
  target_parameters_ = names_of(fields, "target_parameters", "a list of parameters");
  takes_inputs_first_ = wrote_inputs_first(fields);
  if (!target_parameters_.empty() && (dora_ || lora_bias_)) {
    const char* field = dora_ ? "use_dora" : "lora_bias";
    throw_load_error(ErrorCode::kUnsupported, field, "{}: {} is set beside target_parameters, which PEFT rejects", file,
                     field);
  }
  ranks_ = patterns_of(fields, text, "rank_pattern", true);
  alphas_ = patterns_of(fields, text, "alpha_pattern", false);
  check_initialization(fields);
  check_fields(fields, json);
}

double PeftConfig::value_of(const Patterns& patterns, const std::string& module, double otherwise) {
  for (const auto& [expression, value] : patterns) {
    if (ModulePattern(expression).matches(module)) return value;
  }
  return otherwise;
}

std::int64_t PeftConfig::rank(const std::string& module) const {
  if (const auto own = modules_.find(module); own != modules_.end()) return own->second.rank;
  return static_cast<std::int64_t>(value_of(ranks_, name_in_patterns(module), static_cast<double>(rank_)));
}

std::string PeftConfig::name_in_patterns(const std::string& module) const {
  const std::string weight = module + ".weight";
  return is_target_parameter(target_parameters_, weight) ? weight : module;
}

std::vector<std::int64_t> PeftConfig::token_indices(const std::string& module) const {
  for (const auto& [name, indices] : token_indices_) {
    if (name.empty() || module == name || module.ends_with("." + name)) return indices;
  }
  return {};
}

double PeftConfig::scale(const std::string& module) const {
  if (const auto own = modules_.find(module); own != modules_.end()) return own->second.scale;
  const auto rank = static_cast<double>(this->rank(module));
  return value_of(alphas_, name_in_patterns(module), alpha_) / (rank_stabilized_ ? std::sqrt(rank) : rank);
}

}  // namespace millrace::model
