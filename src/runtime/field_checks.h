#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace::runtime {

// kInvalidArgument naming `field` if `value` is not in `names`.
inline Result<void> one_of(std::string_view field, const std::string& value, const std::vector<std::string>& names) {
  if (std::ranges::find(names, value) != names.end()) return {};
  return make_error(ErrorCode::kInvalidArgument, std::string(field), "{} is '{}': expected one of {}", field, value,
                    fmt::join(names, ", "));
}

// kInvalidArgument naming `field` if `value` is not in [low, high] or is NaN.
template <typename Number>
Result<void> between(std::string_view field, Number value, Number low, Number high) {
  if (value >= low && value <= high) return {};
  return make_error(ErrorCode::kInvalidArgument, std::string(field), "{} is {}: must be between {} and {}", field,
                    value, low, high);
}

// The first failed check; success if there is none.
inline Result<void> first_failure(std::initializer_list<Result<void>> checks) {
  for (const Result<void>& check : checks) {
    if (!check) return check;
  }
  return {};
}

}  // namespace millrace::runtime
