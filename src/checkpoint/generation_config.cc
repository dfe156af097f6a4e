#include "checkpoint/generation_config.h"

#include <cmath>

#include "base/log.h"
#include "checkpoint/json_fields.h"

namespace millrace::checkpoint {
namespace {

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

std::optional<double> GenerationDefaults::value_of(std::string_view field) const {
  if (field == "temperature") return do_sample == false ? std::optional(0.0) : temperature;
  if (field == "top_p") return top_p;
  if (field == "min_p") return min_p;
  if (field == "repetition_penalty") return repetition_penalty;
  if (field == "top_k" && top_k) return static_cast<double>(*top_k);
  return std::nullopt;
}

}  // namespace millrace::checkpoint
