#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "http/client/http_client.h"

namespace millrace::hub {

// The wall clock and the passing of time, injectable so that tests do not wait. Thread-safe.
class Pause {
 public:
  virtual ~Pause() = default;
  virtual std::chrono::system_clock::time_point now() const = 0;
  // false = the user wants to stop; returns early then.
  virtual bool sleep(std::chrono::milliseconds time) = 0;
};

struct RetryPolicy {
  int tries = 5;                               // without progress
  std::chrono::milliseconds first_delay{500};  // doubled each time, up to kMaxDelay
  std::uint64_t seed = 0;                      // of the jitter
};
inline constexpr std::chrono::milliseconds kMaxDelay{60'000};

// How long a server asks to wait: Retry-After in seconds or as an HTTP date (RFC 9110, 10.2.3), at most kMaxDelay.
std::optional<std::chrono::milliseconds> retry_after(const http::HttpHeaders& headers,
                                                     std::chrono::system_clock::time_point now);

// Worth another try: a server that is busy or failing, a connection that broke.
bool is_transient(int status) noexcept;
bool is_transient(http::HttpFailure::Kind kind) noexcept;

// The waits between the tries of one request: exponential with jitter, so that a thousand clients that lost the same
// server do not come back at once.
class RetrySchedule {
 public:
  explicit RetrySchedule(RetryPolicy policy) : policy_(policy), state_(policy.seed) {}

  // How long to wait before the next try; nothing when the tries are used up.
  std::optional<std::chrono::milliseconds> next(std::optional<std::chrono::milliseconds> asked);
  // A try brought something: the count starts anew.
  void reset() { used_ = 0; }

 private:
  RetryPolicy policy_;
  std::uint64_t state_;
  int used_ = 0;
};

}  // namespace millrace::hub
