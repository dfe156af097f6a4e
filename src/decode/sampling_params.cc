#include "decode/sampling_params.h"

namespace millrace::decode {
namespace {

constexpr std::size_t kMaxStops = 16, kMaxStopBytes = 256;

// NaN fails every range.
Result<void> check_range(const char* field, double value, bool ok, const char* rule) {
  if (ok) return {};
  return make_error(ErrorCode::kInvalidArgument, field, "{} is {}: must be {}", field, value, rule);
}

}  // namespace

Result<void> SamplingParams::validate([[maybe_unused]] std::int64_t vocab_size) const {
  const Result<void> checks[] = {
      check_range("temperature", temperature, temperature >= 0.0 && temperature <= 100.0, "between 0 and 100"),
      check_range("top_k", static_cast<double>(top_k), top_k >= -1 && top_k <= (1 << 30), "-1, 0 (all) or a count"),
      check_range("top_p", top_p, top_p > 0.0 && top_p <= 1.0, "above 0 and at most 1"),
      check_range("min_p", min_p, min_p >= 0.0 && min_p <= 1.0, "between 0 and 1"),
      check_range("repetition_penalty", repetition_penalty, repetition_penalty > 0.0 && repetition_penalty <= 10.0,
                  "above 0 and at most 10"),
      check_range("max_tokens", static_cast<double>(max_tokens),
                  max_tokens >= 1 && max_tokens < (std::int64_t{1} << 31), "at least 1"),
  };
  for (const Result<void>& check : checks) {
    if (!check) return check.error();
  }
  if (stop.size() > kMaxStops) {
    return make_error(ErrorCode::kInvalidArgument, "stop", "{} stop strings, the limit is {}", stop.size(), kMaxStops);
  }
  for (const std::string& text : stop) {
    if (text.empty() || text.size() > kMaxStopBytes) {
      return make_error(ErrorCode::kInvalidArgument, "stop", "a stop string of {} bytes: must have 1 to {}",
                        text.size(), kMaxStopBytes);
    }
  }
  return {};
}

}  // namespace millrace::decode
