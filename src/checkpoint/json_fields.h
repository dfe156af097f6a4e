#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"

namespace millrace::checkpoint {

// The content of a small file; nothing if it does not exist. Any other failure is a LoadError.
std::optional<std::string> read_optional_file(Env& env, const std::string& path, std::uint64_t limit_bytes);

// Parses a JSON object nested at most 64 deep, with the extensions of JSON that base/strict_json.h accepts. Throws
// LoadError naming `file`.
nlohmann::json parse_json_object(const std::string& file, std::string_view text);

// The integer value, also of 512.0. Nothing if it is no integer, or is 2^63 or more, or 2^53 or more with a fraction.
std::optional<std::int64_t> whole_number(const nlohmann::json& value);

// A number, also one that JSON cannot express, {"__float__": "NaN"}, as strict_json() and Transformers 5 write it. May
// be infinite or NaN.
std::optional<double> any_number(const nlohmann::json& value);

// Typed fields of one JSON object. An absent field and null are both nothing; another type is a LoadError naming file
// and field.
class JsonFields {
 public:
  // `object` must outlive it. `where` precedes field names in messages: "rope_scaling.".
  JsonFields(std::string file, const nlohmann::json& object, std::string where = {})
      : file_(std::move(file)), object_(&object), where_(std::move(where)) {}

  const nlohmann::json* find(std::string_view key) const;
  std::optional<std::int64_t> integer(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;  // may be infinite or NaN
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  std::optional<JsonFields> object(std::string_view key) const;
  std::optional<std::vector<double>> numbers(std::string_view key) const;  // a list of finite numbers

  // The value under the first of these names that is present.
  std::optional<std::int64_t> integer(std::initializer_list<std::string_view> keys) const;
  std::int64_t required_integer(std::initializer_list<std::string_view> keys) const;

  [[noreturn]] void wrong_type(std::string_view key, std::string_view expected) const;
  [[noreturn]] void unsupported(std::string_view key, std::string_view why) const;
  const std::string& file() const noexcept { return file_; }

 private:
  std::string file_;
  const nlohmann::json* object_;
  std::string where_;
};

}  // namespace millrace::checkpoint
