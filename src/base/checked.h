#pragma once

#include <concepts>
#include <optional>
#include <utility>

// Integer arithmetic with overflow checks, for every size from a file or a request. Loaders must use it for all
// products and sums.

namespace millrace {

// The exact result; nothing if it does not fit T.
template <std::integral T>
constexpr std::optional<T> checked_add(T a, T b) noexcept {
  T out;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

template <std::integral T>
constexpr std::optional<T> checked_mul(T a, T b) noexcept {
  T out;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

// `value` as To; nothing if it does not fit.
template <std::integral To, std::integral From>
constexpr std::optional<To> checked_cast(From value) noexcept {
  if (std::in_range<To>(value)) return static_cast<To>(value);
  return std::nullopt;
}

// Rounds up to a multiple of `alignment`, a power of two; nothing on overflow.
template <std::unsigned_integral T>
constexpr std::optional<T> checked_align_up(T value, T alignment) noexcept {
  auto sum = checked_add<T>(value, alignment - 1);
  if (!sum) return std::nullopt;
  return static_cast<T>(*sum & ~(alignment - 1));
}

}  // namespace millrace
