#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace millrace::grammar {

using Json = nlohmann::ordered_json;  // properties keep their order

// The first failure while a structural tag is read. Its message begins with the JSON pointer of the mistake.
class FormatErrors {
 public:
  bool any() const noexcept { return first_.has_value(); }
  const Error& first() const { return *first_; }
  void add(ErrorCode code, const std::string& pointer, std::string_view message);
  void invalid(const std::string& pointer, std::string_view message) {
    add(ErrorCode::kInvalidArgument, pointer, message);
  }
  void unsupported(const std::string& pointer, std::string_view what);  // "... is not supported"

 private:
  std::optional<Error> first_;
};

// The fields of one JSON object. close() fails if there are fields that were not read. After a failure all reads return
// empty values.
class FormatFields {
 public:
  // `value` may be of any type, but fails if it is no object. It must outlive this.
  FormatFields(const Json& value, std::string pointer, FormatErrors& errors);

  const std::string& pointer() const noexcept { return pointer_; }
  std::string at(std::string_view name) const { return pointer_ + "/" + std::string(name); }
  const Json* optional(std::string_view name);  // null if absent or null
  const Json* require(std::string_view name);   // null after a failure
  std::string string(std::string_view name);
  bool boolean(std::string_view name);                         // false if absent
  std::optional<std::int64_t> integer(std::string_view name);  // nothing if absent
  // Fails if there are fewer than `least`, or one is empty.
  std::vector<std::string> strings(std::string_view name, std::size_t least);
  // Fails if there are fewer than `least`.
  std::vector<const Json*> list(std::string_view name, std::size_t least);
  void close();

 private:
  const Json* value_;  // null: no object
  std::string pointer_;
  FormatErrors& errors_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace millrace::grammar
