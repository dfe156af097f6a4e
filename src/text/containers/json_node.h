#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace simdjson::dom {
class element;
class object;
class array;
}  // namespace simdjson::dom

namespace millrace::text {

// A value of a parsed file together with its place there; every reader throws LoadError naming file, JSON pointer
// (RFC 6901), what was expected and what was found. A missing member is a null node. Who calls object() or array()
// includes <simdjson.h>, which is dear and therefore not included here.
class JsonNode {
 public:
  // The whole of a file. `file` names it and lives as long as every node of it.
  JsonNode(simdjson::dom::element element, std::string_view file);

  const std::string& pointer() const noexcept { return pointer_; }  // "/model/vocab"
  std::string where() const;                                        // "tokenizer.json: /model/vocab"
  bool is_null() const noexcept;
  bool is_string() const noexcept;
  bool is_object() const noexcept;
  bool is_array() const noexcept;

  JsonNode operator[](std::string_view key) const;  // of an object
  std::string_view string() const;                  // lives as long as the parser
  std::string_view string_or(std::string_view absent) const { return is_null() ? absent : string(); }
  bool boolean_or(bool absent) const;
  std::int64_t integer() const;
  double number() const;
  std::vector<JsonNode> items() const;  // of an array; none when null
  simdjson::dom::object object() const;
  simdjson::dom::array array() const;

  // "`where` is `found`; ..." for values this build does not do.
  [[noreturn]] void unsupported(std::string_view found, std::string_view expected) const;
  // "`where` must be `expected`, not ...".
  [[noreturn]] void wrong(std::string_view expected) const;
  // "`where`: `text`".
  [[noreturn]] void reject(ErrorCode code, std::string_view text) const;

 private:
  JsonNode(std::string_view file, std::string pointer) : file_(file), pointer_(std::move(pointer)) {}

  void set(simdjson::dom::element element) noexcept;
  simdjson::dom::element element() const noexcept;  // where present_

  std::array<std::uintptr_t, 2>
      element_{};  // the bytes of a simdjson::dom::element: where its document is, and its place in it
  bool present_ = false;
  std::string_view file_;
  std::string pointer_;
};

}  // namespace millrace::text
