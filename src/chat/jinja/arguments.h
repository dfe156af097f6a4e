#pragma once

#include <initializer_list>

#include "chat/jinja/runtime.h"

namespace millrace::chat::jinja {

// Arguments matched to the parameter names of a built-in, as Python's call does it.
class BoundArguments {
 public:
  // Fails when there are too many, an unknown name, one given twice, or fewer than the first `required`.
  BoundArguments(std::string_view callee, const Arguments& arguments, std::initializer_list<std::string_view> names,
                 std::size_t required = 0);

  bool has(std::size_t i) const { return values_[i] != nullptr; }
  bool has_value(std::size_t i) const { return values_[i] && !values_[i]->is_none(); }  // given and not none
  const Value& operator[](std::size_t i) const { return *values_[i]; }
  Value value(std::size_t i, Value fallback) const { return values_[i] ? *values_[i] : std::move(fallback); }
  bool truth(std::size_t i, bool fallback) const { return values_[i] ? values_[i]->truthy() : fallback; }
  // Fails unless it is an int; out of range is clamped to 64 bits.
  std::int64_t integer(std::size_t i, std::int64_t fallback) const;
  // Fails unless it is a str.
  const Text& text(std::size_t i) const;

 private:
  std::string_view callee_;
  std::vector<std::string_view> names_;
  std::vector<const Value*> values_;
};

// The same of a function that has no parameters.
inline void expect_no_arguments(std::string_view callee, const Arguments& arguments) {
  const BoundArguments none(callee, arguments, {});
}

// Nearest 64-bit value.
std::int64_t clamp_integer(Integer value);

}  // namespace millrace::chat::jinja
