#pragma once

#include <initializer_list>

#include "chat/jinja/runtime.h"

namespace millrace::chat::jinja {

// Arguments matched to the parameter names of a built-in function, with the rules of Python's calls.
class BoundArguments {
 public:
  // Fails if there are too many arguments, an unknown name, a repeated one, or fewer than the first `required`.
  BoundArguments(std::string_view callee, const Arguments& arguments, std::initializer_list<std::string_view> names,
                 std::size_t required = 0);

  bool has(std::size_t i) const { return values_[i] != nullptr; }
  bool has_value(std::size_t i) const { return values_[i] && !values_[i]->is_none(); }  // given and not none
  const Value& operator[](std::size_t i) const { return *values_[i]; }
  Value value(std::size_t i, Value fallback) const { return values_[i] ? *values_[i] : std::move(fallback); }
  bool truth(std::size_t i, bool fallback) const { return values_[i] ? values_[i]->truthy() : fallback; }
  // Fails unless it is an int; values out of range are clamped to 64 bits.
  std::int64_t integer(std::size_t i, std::int64_t fallback) const;
  // Fails unless it is a str.
  const Text& text(std::size_t i) const;

 private:
  std::string_view callee_;
  std::vector<std::string_view> names_;
  std::vector<const Value*> values_;
};

// Fails if there are any arguments.
inline void expect_no_arguments(std::string_view callee, const Arguments& arguments) {
  const BoundArguments none(callee, arguments, {});
}

// The nearest 64-bit value.
std::int64_t clamp_integer(Integer value);

}  // namespace millrace::chat::jinja
