#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "http/client/http_client.h"

namespace millrace::hub {

// The wall clock and waiting, injectable so that tests do not wait. Thread-safe.
class Pause {
 public:
  virtual ~Pause() = default;
  virtual std::chrono::system_clock::time_point now() const = 0;
  // Returns false, and early, if the user wants to stop.
  virtual bool sleep(std::chrono::milliseconds time) = 0;
};

struct RetryPolicy {
  int tries = 5;                               // successive tries without progress
  std::chrono::milliseconds first_delay{500};  // doubled after each try, up to kMaxDelay
  std::uint64_t seed = 0;                      // of the jitter
};
inline constexpr std::chrono::milliseconds kMaxDelay{60'000};

// The time that a server asks to wait: Retry-After in seconds or as an HTTP date (RFC 9110, 10.2.3), at most kMaxDelay.
std::optional<std::chrono::milliseconds> retry_after(const http::HttpHeaders& headers,
                                                     std::chrono::system_clock::time_point now);

// Whether another try makes sense: the server is busy or failing, or the connection broke.
bool is_transient(int status) noexcept;
bool is_transient(http::HttpFailure::Kind kind) noexcept;

// The waits between the tries of one request: exponential with jitter, so that many clients that lost the same server
// do not return at once.
class RetrySchedule {
 public:
  explicit RetrySchedule(RetryPolicy policy) : policy_(policy), state_(policy.seed) {}

  // The time to wait before the next try, at least `asked`; nothing when the tries are used up.
  std::optional<std::chrono::milliseconds> next(std::optional<std::chrono::milliseconds> asked);
  // A try made progress: the count of tries starts again.
  void reset() { used_ = 0; }

 private:
  RetryPolicy policy_;
  std::uint64_t state_;
  int used_ = 0;
};

}  // namespace millrace::hub
