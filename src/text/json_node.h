#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace millrace::text {

// A value of a parsed tokenizer file together with its path in it; every reader throws LoadError naming that path. A
// missing member is a null node.
class JsonNode {
 public:
  JsonNode(simdjson::dom::element element, std::string path)
      : element_(element), present_(true), path_(std::move(path)) {}

  const std::string& path() const noexcept { return path_; }
  bool is_null() const noexcept { return !present_ || element_.is_null(); }
  bool is_string() const noexcept { return present_ && element_.is_string(); }
  bool is_object() const noexcept { return present_ && element_.is_object(); }
  bool is_array() const noexcept { return present_ && element_.is_array(); }

  JsonNode operator[](std::string_view key) const;  // of an object
  std::string_view string() const;                  // lives as long as the parser
  std::string_view string_or(std::string_view absent) const { return is_null() ? absent : string(); }
  bool boolean_or(bool absent) const;
  std::int64_t integer() const;
  double number() const;
  std::vector<JsonNode> items() const;  // of an array; none when null
  simdjson::dom::object object() const;
  simdjson::dom::array array() const;

  // "`path` is `found`; ..." for values this build does not do.
  [[noreturn]] void unsupported(std::string_view found, std::string_view expected) const;
  [[noreturn]] void wrong(std::string_view expected) const;

 private:
  explicit JsonNode(std::string path) : path_(std::move(path)) {}

  simdjson::dom::element element_;
  bool present_ = false;
  std::string path_;
};

}  // namespace millrace::text
