#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "decode/sampling_params.h"
#include "kv/prefix_scope.h"

namespace millrace::engine {

using RequestId = std::uint64_t;
using SessionId = std::uint64_t;

inline constexpr int kMaxChoices = 16;

struct Request {
  std::vector<std::int32_t> tokens;  // the prompt, or with append_to_session what comes after the session's tokens
  decode::SamplingParams sampling;
  int n = 1;  // answers to the same prompt, [1, kMaxChoices]; answer i is drawn with seed + i

  std::optional<SessionId> session;  // keep keys and values for the next request of this session
  bool append_to_session = false;

  int priority = 0;                                   // lower is more urgent
  std::uint32_t tenant = 0;                           // whose it is, for policies that share fairly
  std::string cache_salt;                             // pages are shared only among requests of equal salt and adapter
  kv::Retention retention = {};                       // of its published pages
  std::optional<double> timeout_ms;                   // the whole answer must be there by then, else kTimeout
  double ttft_target_ms = 0.0, tpot_target_ms = 0.0;  // for policies that schedule by them; 0 = none
  std::int64_t expected_tokens = 0;                   // how long the answer will be, if somebody knows; 0 = nobody
};

enum class FinishReason { kNone, kStop, kLength, kCancelled, kTimeout, kError };
std::string_view to_string(FinishReason reason) noexcept;

// Counts and times of one answer; TTFT = first_token - arrival, TPOT = (last_token - first_token) / (output_tokens -
// 1).
struct RequestStats {
  std::int64_t prompt_tokens = 0, cached_tokens = 0, output_tokens = 0;
  std::int64_t preemptions = 0;
  TimePoint arrival{}, admitted{}, first_token{}, last_token{};
  double queue_ms() const { return milliseconds_between(arrival, admitted); }
  double ttft_ms() const { return milliseconds_between(arrival, first_token); }
  double tpot_ms() const {
    return output_tokens > 1 ? milliseconds_between(first_token, last_token) / static_cast<double>(output_tokens - 1)
                             : 0.0;
  }
};

// What a step did for one answer.
struct Output {
  RequestId request = 0;
  int choice = 0;                     // [0, n)
  std::optional<std::int32_t> token;  // drawn in this step
  std::string text;                   // that may be shown now; whole UTF-8
  FinishReason finish = FinishReason::kNone;
  bool last = false;           // the request's last output: all its answers have ended
  std::optional<Error> error;  // with kError
  RequestStats stats;          // final once finish != kNone
};

}  // namespace millrace::engine
