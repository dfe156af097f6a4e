#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace millrace::metrics {

// A range of token counts from which each request gets one: uniformly, or with a long tail (density 1/x, as answers of
// chats have it), where each doubling of the length is equally likely.
struct TokenRange {
  std::int64_t min = 1, max = 1;
  bool long_tail = false;
  bool operator==(const TokenRange&) const = default;
};
inline constexpr std::int64_t kMaxTokens = std::int64_t{1} << 24;
// Parses "128", "64-256" or "64-256:long", with numbers in [1, kMaxTokens]; kInvalidArgument naming `flag` otherwise.
Result<TokenRange> parse_token_range(std::string_view flag, std::string_view text);

// The number in `range` of request `index` in the workload with `seed`; a function of the arguments, so that request 7
// is the same however many there are. `stream` distinguishes several numbers of one request.
std::int64_t sample(const TokenRange& range, std::uint64_t seed, std::uint64_t index, std::uint64_t stream);

}  // namespace millrace::metrics
