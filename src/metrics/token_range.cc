#include "metrics/token_range.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/counter_rng.h"

namespace millrace::metrics {
namespace {

std::optional<std::int64_t> parse_count(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > kMaxTokens) return std::nullopt;
  return value;
}

std::uint64_t below(std::uint64_t limit, std::uint64_t seed, std::uint64_t index, std::uint64_t stream) {
  const double share = rng::uniform(seed, index, stream);
  return std::min(static_cast<std::uint64_t>(share * static_cast<double>(limit)), limit - 1);
}

}  // namespace

Result<TokenRange> parse_token_range(std::string_view flag, std::string_view text) {
  constexpr std::string_view kLong = ":long";
  const std::string_view asked = text;
  const bool long_tail = text.ends_with(kLong);
  if (long_tail) text.remove_suffix(kLong.size());
  const std::size_t dash = text.find('-');
  const auto min = parse_count(text.substr(0, dash));
  const auto max = dash == std::string_view::npos ? min : parse_count(text.substr(dash + 1));
  if (!min || !max || *min > *max) {
    return make_error(ErrorCode::kInvalidArgument, std::string(flag),
                      "{} is '{}': expected a number of tokens, MIN-MAX or MIN-MAX:long, from 1 to {}", flag, asked,
                      kMaxTokens);
  }
  return TokenRange{*min, *max, long_tail};
}

std::int64_t sample(const TokenRange& range, std::uint64_t seed, std::uint64_t index, std::uint64_t stream) {
  if (range.long_tail) {
    const double low = std::log(static_cast<double>(range.min)), high = std::log(static_cast<double>(range.max) + 1.0);
    const double drawn = std::exp(low + (high - low) * rng::uniform(seed, index, stream));
    return std::clamp(static_cast<std::int64_t>(drawn), range.min, range.max);
  }
  return range.min +
         static_cast<std::int64_t>(below(static_cast<std::uint64_t>(range.max - range.min + 1), seed, index, stream));
}

}  // namespace millrace::metrics
