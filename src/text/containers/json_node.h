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

// A value of a parsed JSON file with its place there. Readers throw LoadError naming file, JSON pointer (RFC 6901),
// expected and found value. A missing member is a null node. Callers of object() and array() must include <simdjson.h>,
// which is not included here because it is slow to compile.
class JsonNode {
 public:
  // The root of a file. `file` is its name, and must outlive all nodes.
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
  std::vector<JsonNode> items() const;  // of an array; empty when null
  simdjson::dom::object object() const;
  simdjson::dom::array array() const;

  // Throws "`where` is `found`; ..." for values that this build does not support.
  [[noreturn]] void unsupported(std::string_view found, std::string_view expected) const;
  // Throws "`where` must be `expected`, not ...".
  [[noreturn]] void wrong(std::string_view expected) const;
  // Throws "`where`: `text`".
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
