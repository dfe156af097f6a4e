#include "checkpoint/gguf_metadata.h"

#include <algorithm>
#include <type_traits>

#include "base/checked.h"
#include "base/error.h"
#include "checkpoint/quote_name.h"

namespace millrace::checkpoint {
namespace {

template <typename T>
constexpr bool kIsInteger = std::is_integral_v<T> && !std::is_same_v<T, bool>;

std::optional<std::int64_t> as_integer(const GgufValue& value) {
  return std::visit(
      [](const auto& v) -> std::optional<std::int64_t> {
        if constexpr (kIsInteger<std::decay_t<decltype(v)>>) {
          return checked_cast<std::int64_t>(v);
        } else {
          return std::nullopt;
        }
      },
      value);
}

}  // namespace

void GgufMetadata::add(std::string key, GgufValue value) {
  if (!index_.try_emplace(key, entries_.size()).second) {
    throw_load_error(ErrorCode::kBadFile, key, "{}: key {} occurs twice", file_, quote_name(key));
  }
  entries_.emplace_back(std::move(key), std::move(value));
}

const GgufValue* GgufMetadata::find(const std::string& key) const {
  const auto it = index_.find(key);
  return it == index_.end() ? nullptr : &entries_[it->second].second;
}

void GgufMetadata::wrong_type(const std::string& key, std::string_view expected, const GgufValue& found) const {
  throw_load_error(ErrorCode::kBadFile, key, "{}: key {}: expected {}, found {}", file_, quote_name(key), expected,
                   gguf_type_name(found));
}

void GgufMetadata::missing(const std::string& key) const {
  throw_load_error(ErrorCode::kBadFile, key, "{}: required key {} is missing", file_, quote_name(key));
}

std::optional<std::int64_t> GgufMetadata::integer(const std::string& key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* wide = std::get_if<std::uint64_t>(value); wide != nullptr && !checked_cast<std::int64_t>(*wide)) {
    throw_load_error(ErrorCode::kBadFile, key, "{}: key {}: {} is out of range", file_, quote_name(key), *wide);
  }
  const auto out = as_integer(*value);
  if (!out) wrong_type(key, "an integer", *value);
  return out;
}

std::optional<double> GgufMetadata::number(const std::string& key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* v = std::get_if<float>(value)) return static_cast<double>(*v);
  if (const auto* v = std::get_if<double>(value)) return *v;
  const auto whole = as_integer(*value);
  if (!whole) wrong_type(key, "a number", *value);
  return static_cast<double>(*whole);
}

std::optional<bool> GgufMetadata::boolean(const std::string& key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* v = std::get_if<bool>(value)) return *v;
  wrong_type(key, "bool", *value);
}

std::optional<std::string> GgufMetadata::text(const std::string& key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* v = std::get_if<std::string>(value)) return *v;
  wrong_type(key, "string", *value);
}

std::int64_t GgufMetadata::required_integer(const std::string& key) const {
  if (const auto value = integer(key)) return *value;
  missing(key);
}

double GgufMetadata::required_number(const std::string& key) const {
  if (const auto value = number(key)) return *value;
  missing(key);
}

std::string GgufMetadata::required_text(const std::string& key) const {
  if (auto value = text(key)) return *std::move(value);
  missing(key);
}

std::optional<std::int64_t> GgufMetadata::uniform_integer(const std::string& key) const {
  const GgufValue* value = find(key);
  if (value == nullptr || !std::holds_alternative<GgufArray>(*value)) return integer(key);
  return std::visit(
      [&](const auto& elements) -> std::optional<std::int64_t> {
        using T = typename std::decay_t<decltype(elements)>::value_type;
        if constexpr (kIsInteger<T>) {
          if (elements.empty() || std::ranges::any_of(elements, [&](T v) { return v != elements.front(); })) {
            throw_load_error(ErrorCode::kUnsupported, key, "{}: key {}: layers that differ in it are not supported",
                             file_, quote_name(key));
          }
          return as_integer(GgufValue(elements.front()));
        } else {
          wrong_type(key, "an integer", *value);
        }
      },
      std::get<GgufArray>(*value).elements);
}

std::vector<std::int64_t> GgufMetadata::integers(const std::string& key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) missing(key);
  if (!std::holds_alternative<GgufArray>(*value)) return {required_integer(key)};
  return std::visit(
      [&](const auto& elements) -> std::vector<std::int64_t> {
        using T = typename std::decay_t<decltype(elements)>::value_type;
        if constexpr (kIsInteger<T>) {
          std::vector<std::int64_t> values;
          for (const T element : elements) {
            const auto integer = as_integer(GgufValue(element));
            if (!integer) wrong_type(key, "integers below 2^63", *value);
            values.push_back(*integer);
          }
          return values;
        } else {
          wrong_type(key, "integers", *value);
        }
      },
      std::get<GgufArray>(*value).elements);
}

template <typename T>
const std::vector<T>* GgufMetadata::array(const std::string& key, std::string_view expected) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return nullptr;
  const auto* array = std::get_if<GgufArray>(value);
  const auto* elements = array == nullptr ? nullptr : std::get_if<std::vector<T>>(&array->elements);
  if (elements == nullptr) wrong_type(key, expected, *value);
  return elements;
}

std::optional<std::vector<float>> GgufMetadata::floats(const std::string& key) const {
  const auto* elements = array<float>(key, "array of float32");
  return elements == nullptr ? std::nullopt : std::optional(*elements);
}

std::optional<std::vector<std::int32_t>> GgufMetadata::int32s(const std::string& key) const {
  const auto* elements = array<std::int32_t>(key, "array of int32");
  return elements == nullptr ? std::nullopt : std::optional(*elements);
}

std::optional<std::string> GgufMetadata::bytes(const std::string& key) const {
  const GgufValue* value = find(key);
  const auto* found = value == nullptr ? nullptr : std::get_if<GgufArray>(value);
  if (found != nullptr) {
    if (const auto* elements = std::get_if<std::vector<std::int8_t>>(&found->elements)) {
      return std::string(elements->begin(), elements->end());
    }
  }
  const auto* elements = array<std::uint8_t>(key, "array of uint8 or int8");
  if (elements == nullptr) return std::nullopt;
  return std::string(elements->begin(), elements->end());
}

std::size_t GgufMetadata::string_count(const std::string& key) const {
  const auto* elements = array<std::string>(key, "array of string");
  return elements == nullptr ? 0 : elements->size();
}

std::optional<std::vector<std::string>> GgufMetadata::take_strings(const std::string& key) {
  const auto* elements = array<std::string>(key, "array of string");
  if (elements == nullptr) return std::nullopt;
  return std::move(*const_cast<std::vector<std::string>*>(elements));
}

}  // namespace millrace::checkpoint
