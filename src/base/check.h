#pragma once

#include <string>
#include <string_view>
#include <type_traits>

// CHECK ends the process if an invariant of the program is broken; CHECK_EQ(a, b) and its siblings print both values.
// They are active in every build. No input from outside (requests, files, templates, grammars) may reach one; it gets a
// Result or a LoadError. DCHECK is for kernels and other hot loops, and only active in debug builds. Nearly every file
// includes this one, so it does not include <sstream>.

namespace millrace::internal {

[[noreturn]] void check_failed(const char* file, int line, const char* expression, const std::string& values);

// The value as text: numbers, enumerators and strings; for pointers, whether it is null.
template <typename T>
std::string check_value(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return std::string(std::string_view(value));
  } else if constexpr (std::is_pointer_v<T>) {
    return value == nullptr ? "nullptr" : "a pointer";
  } else {
    return "a value";
  }
}

template <typename A, typename B>
[[noreturn]] void check_op_failed(const char* file, int line, const char* expression, const A& a, const B& b) {
  check_failed(file, line, expression, check_value(a) + " vs " + check_value(b));
}

}  // namespace millrace::internal

#define CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::millrace::internal::check_failed(__FILE__, __LINE__, #condition, ""))
#define MILLRACE_CHECK_OP(a, op, b)                                                                   \
  do {                                                                                                \
    const auto& check_a = (a);                                                                        \
    const auto& check_b = (b);                                                                        \
    if (!(check_a op check_b))                                                                        \
      ::millrace::internal::check_op_failed(__FILE__, __LINE__, #a " " #op " " #b, check_a, check_b); \
  } while (false)
#define CHECK_EQ(a, b) MILLRACE_CHECK_OP(a, ==, b)
#define CHECK_LT(a, b) MILLRACE_CHECK_OP(a, <, b)
#define CHECK_LE(a, b) MILLRACE_CHECK_OP(a, <=, b)
#ifdef NDEBUG
#define DCHECK(condition) static_cast<void>(0)
#else
#define DCHECK(condition) CHECK(condition)
#endif
