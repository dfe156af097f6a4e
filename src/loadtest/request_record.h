#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::loadtest {

// How a request ended.
enum class Outcome {
  kWhole,         // status 200 and a complete stream
  kRejected,      // another status
  kFailed,        // an error within the stream
  kCut,           // the connection ended early or could not be opened
  kTimeout,       // it took longer than allowed
  kDisconnected,  // the client left, as planned
  kStopped,       // the run was stopped before its end
};
std::string_view to_string(Outcome outcome) noexcept;

// Where the time of an answer went, as its server says (`timings` and `explain` of millrace).
struct ServerTimes {
  double queue_ms = -1.0, prefill_ms = -1.0, decode_ms = -1.0;  // -1: it does not say
  struct Cause {
    std::string name;  // "queue", "decode_batch", ... (docs/observability.md)
    double ms = 0.0;
  };
  std::vector<Cause> causes;  // the greatest first
  bool known() const noexcept { return queue_ms >= 0.0 && prefill_ms >= 0.0 && decode_ms >= 0.0; }
};

// One request as seen by its client. Times are seconds since the run began (negative in warm-up), by the client's
// clock; times of events that never occurred are 0, with status 0. Latencies count from `due`, so that delays by a slow
// client or server are included (coordinated omission).
struct RequestRecord {
  std::int64_t index = 0;    // in order of sending, from 0
  std::int64_t session = 0;  // whose turn it is
  std::int64_t turn = 0;     // number within its session, from 0
  bool warmup = false;       // it is not counted

  std::string model;  // that the workload chose (an adapter); "" = the default

  double due = 0.0;         // when the schedule wanted it sent
  double sent = 0.0;        // when the client began to connect or write; sent - due is the client's own delay
  double first_byte = 0.0;  // of the reply
  double ended = 0.0;
  // Arrival times of the stream's events with text, one entry per event; an event may have several tokens.
  std::vector<double> events;

  std::int64_t asked_tokens = 0;  // max_tokens
  // Counts from the reply's `usage`; -1 if absent, then output tokens are counted as events.
  std::int64_t prompt_tokens = -1, cached_tokens = -1, completion_tokens = -1;

  Outcome outcome = Outcome::kCut;
  int status = 0;             // HTTP status; 0 = none arrived
  std::string error;          // one line for people; "" = none
  std::string id;             // the reply's `id`, which names the request in the server's trace
  std::string finish_reason;  // of the first choice
  std::string text;           // the answer, if the load keeps it
  ServerTimes server;

  bool good() const noexcept { return outcome == Outcome::kWhole && !events.empty(); }
  std::int64_t output_tokens() const noexcept {
    return completion_tokens >= 0 ? completion_tokens : static_cast<std::int64_t>(events.size());
  }
  // Latencies of good requests, in seconds. latency = ttft + tpot * (output_tokens - 1).
  double ttft() const noexcept { return events.front() - due; }
  double latency() const noexcept { return events.back() - due; }
  double tpot() const noexcept {  // 0 if there is only one token
    const std::int64_t n = output_tokens();
    return n > 1 ? (events.back() - events.front()) / static_cast<double>(n - 1) : 0.0;
  }
};

}  // namespace millrace::loadtest
