#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::loadtest {

// How a request came to its end.
enum class Outcome {
  kWhole,         // status 200 and the stream's own end
  kRejected,      // another status
  kFailed,        // an error inside the stream
  kCut,           // the connection ended first, or could not be had
  kTimeout,       // longer than allowed
  kDisconnected,  // we left, as the load wants it
  kStopped,       // the run was stopped before its end
};
std::string_view to_string(Outcome outcome) noexcept;

// One request as its client saw it. Times are seconds since the run began (of a warm-up below 0), by the client's
// clock; what never came is 0 with status 0. Latencies count from `due`, so that what a slow client or server puts off
// is not left out (coordinated omission).
struct RequestRecord {
  std::int64_t index = 0;    // in the order of sending, from 0
  std::int64_t session = 0;  // whose turn it is
  std::int64_t turn = 0;     // of its session, from 0
  bool warmup = false;       // counts for nothing

  double due = 0.0;         // when the schedule wanted it sent
  double sent = 0.0;        // the client set about it: asked for a connection or wrote; sent - due is its own lag
  double first_byte = 0.0;  // of the reply
  double ended = 0.0;
  // When what brought text arrived, one entry an event of the stream; an event may carry several tokens.
  std::vector<double> events;

  std::int64_t asked_tokens = 0;  // max_tokens
  // Counts of the reply's `usage`, or -1 where there is none; then output is counted in events.
  std::int64_t prompt_tokens = -1, cached_tokens = -1, completion_tokens = -1;

  Outcome outcome = Outcome::kCut;
  int status = 0;             // of HTTP; 0 = none came
  std::string error;          // one line for people; "" = none
  std::string id;             // the reply's `id`: names the request in the server's trace
  std::string finish_reason;  // of the first choice
  std::string text;           // the answer, where the load keeps it

  bool good() const noexcept { return outcome == Outcome::kWhole && !events.empty(); }
  std::int64_t output_tokens() const noexcept {
    return completion_tokens >= 0 ? completion_tokens : static_cast<std::int64_t>(events.size());
  }
  // Latencies of good requests. latency = ttft + tpot * (output_tokens - 1).
  double ttft() const noexcept { return events.front() - due; }
  double latency() const noexcept { return events.back() - due; }
  double tpot() const noexcept {  // 0 where there is only one token
    const std::int64_t n = output_tokens();
    return n > 1 ? (events.back() - events.front()) / static_cast<double>(n - 1) : 0.0;
  }
};

}  // namespace millrace::loadtest
