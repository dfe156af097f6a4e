#include "checkpoint/json_fields.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/checked.h"
#include "base/error.h"
#include "base/strict_json.h"

namespace millrace::checkpoint {

std::optional<std::string> read_optional_file(Env& env, const std::string& path, std::uint64_t limit_bytes) {
  auto text = read_file(env, path, limit_bytes);
  if (text) return *std::move(text);
  if (text.error().code == ErrorCode::kNotFound) return std::nullopt;
  throw LoadError(text.error());
}

namespace {

nlohmann::json parse_strictly(const std::string& file, std::string_view text) {
  constexpr int kMaxDepth = 64;
  const auto limit_depth = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > kMaxDepth) throw_load_error(ErrorCode::kBadFile, file, "{}: nested deeper than {}", file, kMaxDepth);
    return true;
  };
  return nlohmann::json::parse(text, limit_depth);
}

nlohmann::json parse_json(const std::string& file, std::string_view text) {
  try {
    return parse_strictly(file, text);
  } catch (const nlohmann::json::exception&) {
    return parse_strictly(file, strict_json(text));
  }
}

// {"__float__": "NaN"} names a float that JSON has no number for.
std::optional<double> named_float(const nlohmann::json& value) {
  if (!value.is_object() || value.size() != 1 || !value.contains(kFloatKey)) return std::nullopt;
  using Limits = std::numeric_limits<double>;
  const nlohmann::json& name = value[kFloatKey];
  if (name == "NaN") return Limits::quiet_NaN();
  if (name == "Infinity") return Limits::infinity();
  if (name == "-Infinity") return -Limits::infinity();
  return std::nullopt;
}

}  // namespace

nlohmann::json parse_json_object(const std::string& file, std::string_view text) {
  nlohmann::json json;
  try {
    json = parse_json(file, text);
  } catch (const nlohmann::json::parse_error& e) {
    throw_load_error(ErrorCode::kBadFile, file, "{}: not valid JSON at byte {}", file, e.byte);
  } catch (const nlohmann::json::exception& e) {
    throw_load_error(ErrorCode::kBadFile, file, "{}: not valid JSON: {}", file, e.what());
  }
  if (!json.is_object())
    throw_load_error(ErrorCode::kBadFile, file, "{}: a JSON object expected, found {}", file, json.type_name());
  return json;
}

std::optional<std::int64_t> whole_number(const nlohmann::json& value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53: below, a double is the integer that was written
  if (value.is_number_unsigned()) return checked_cast<std::int64_t>(value.get<std::uint64_t>());
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  if (!(std::abs(number) < kExact) || std::trunc(number) != number) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::optional<double> any_number(const nlohmann::json& value) {
  return value.is_number() ? std::optional(value.get<double>()) : named_float(value);
}

const nlohmann::json* JsonFields::find(std::string_view key) const {
  const auto it = object_->find(key);
  return it == object_->end() || it->is_null() ? nullptr : &*it;
}

void JsonFields::wrong_type(std::string_view key, std::string_view expected) const {
  const nlohmann::json* value = find(key);
  const std::string field = where_ + std::string(key);
  std::string found = value == nullptr ? "nothing" : value->type_name();
  if (const auto number = value == nullptr ? std::nullopt : any_number(*value)) {
    found = value->is_number() ? value->dump() : fmt::format("{}", *number);
  }
  throw_load_error(ErrorCode::kBadFile, field, "{}: {}: expected {}, found {}", file_, field, expected, found);
}

void JsonFields::unsupported(std::string_view key, std::string_view why) const {
  const std::string field = where_ + std::string(key);
  throw_load_error(ErrorCode::kUnsupported, field, "{}: {}: {}", file_, field, why);
}

std::optional<std::int64_t> JsonFields::integer(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto number = whole_number(*value)) return number;
  wrong_type(key, "an integer below 2^63");
}

std::optional<double> JsonFields::number(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto number = any_number(*value);
  if (!number) wrong_type(key, "a number");
  return number;
}

std::optional<bool> JsonFields::boolean(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) wrong_type(key, "true or false");
  return value->get<bool>();
}

std::optional<std::string> JsonFields::text(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) wrong_type(key, "a string");
  return value->get<std::string>();
}

std::optional<JsonFields> JsonFields::object(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_object()) wrong_type(key, "an object");
  return JsonFields(file_, *value, where_ + std::string(key) + ".");
}

std::optional<std::vector<double>> JsonFields::numbers(std::string_view key) const {
  const nlohmann::json* list = find(key);
  if (list == nullptr) return std::nullopt;
  if (!list->is_array()) wrong_type(key, "a list of numbers");
  std::vector<double> values;
  for (const nlohmann::json& element : *list) {
    const auto value = any_number(element);
    if (!value || !std::isfinite(*value)) wrong_type(key, "a list of finite numbers");
    values.push_back(*value);
  }
  return values;
}

std::optional<std::int64_t> JsonFields::integer(std::initializer_list<std::string_view> keys) const {
  for (const std::string_view key : keys) {
    if (const auto value = integer(key)) return value;
  }
  return std::nullopt;
}

std::int64_t JsonFields::required_integer(std::initializer_list<std::string_view> keys) const {
  if (const auto value = integer(keys)) return *value;
  const std::string field = where_ + std::string(*keys.begin());
  throw_load_error(ErrorCode::kBadFile, field, "{}: required field {} is missing", file_, field);
}

}  // namespace millrace::checkpoint
