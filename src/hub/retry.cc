#include "hub/retry.h"

#include <algorithm>
#include <charconv>
#include <ctime>

namespace millrace::hub {
namespace {

using std::chrono::milliseconds;

// SplitMix64 (Steele, Lea, Flood 2014): spreads waits, nothing more.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace

std::optional<milliseconds> retry_after(const http::HttpHeaders& headers, std::chrono::system_clock::time_point now) {
  const std::string* text = headers.find("retry-after");
  if (text == nullptr) return std::nullopt;
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), seconds);
  if (error == std::errc() && end == text->data() + text->size()) {
    return milliseconds(std::clamp<std::int64_t>(seconds, 0, kMaxDelay.count() / 1000) * 1000);
  }
  std::tm date{};
  const char* rest = ::strptime(text->c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
  if (rest == nullptr || *rest != '\0') return std::nullopt;
  const auto until = std::chrono::system_clock::from_time_t(::timegm(&date));
  return std::clamp(std::chrono::duration_cast<milliseconds>(until - now), milliseconds(0), kMaxDelay);
}

bool is_transient(int status) noexcept {
  return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

bool is_transient(http::HttpFailure::Kind kind) noexcept {
  return kind == http::HttpFailure::Kind::kUnresolved || kind == http::HttpFailure::Kind::kUnreachable ||
         kind == http::HttpFailure::Kind::kStalled || kind == http::HttpFailure::Kind::kCut;
}

std::optional<milliseconds> RetrySchedule::next(std::optional<milliseconds> asked) {
  if (++used_ >= policy_.tries) return std::nullopt;
  const milliseconds delay = std::min(kMaxDelay, policy_.first_delay * (std::int64_t{1} << std::min(used_ - 1, 16)));
  // Half of it is certain, half is drawn.
  const auto half = static_cast<std::uint64_t>(delay.count() / 2);
  const milliseconds drawn(delay.count() / 2 + static_cast<std::int64_t>(half == 0 ? 0 : next_random(state_) % half));
  return asked ? std::max(*asked, std::min(drawn, milliseconds(1000))) : drawn;
}

}  // namespace millrace::hub
