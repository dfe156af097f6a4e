#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace millrace::metrics {

// How many tokens a request has: a number of [min, max], drawn for each request; evenly, or with a long tail: each
// doubling of the length is as likely as the next (1/x, what answers of chats look like).
struct TokenRange {
  std::int64_t min = 1, max = 1;
  bool long_tail = false;
  bool operator==(const TokenRange&) const = default;
};
inline constexpr std::int64_t kMaxTokens = std::int64_t{1} << 24;
// "128", "64-256" or "64-256:long", each within [1, kMaxTokens]; kInvalidArgument naming `flag` otherwise.
Result<TokenRange> parse_token_range(std::string_view flag, std::string_view text);

// The number of `range` that request `index` of the workload `seed` gets. Depends on nothing else: request 7 is the
// same request however many there are. `stream` separates the numbers that one request needs.
std::int64_t sample(const TokenRange& range, std::uint64_t seed, std::uint64_t index, std::uint64_t stream);

}  // namespace millrace::metrics
