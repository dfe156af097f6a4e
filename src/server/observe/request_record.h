#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/env.h"
#include "engine/request.h"

namespace millrace::server::observe {

struct AnswerRecord {
  engine::RequestStats stats;
  engine::TimeSpent spent;
  engine::FinishReason finish = engine::FinishReason::kNone;
};

// One finished request to a model: what logs, metrics and traces are made of. Never what was asked or answered.
struct RequestRecord {
  std::string model, route;           // as configured: these are labels; no model: refused before it got to one
  std::string tenant;                 // a configured name; empty: none
  std::string request_id;             // as the client knows it
  std::string trace_parent;           // the W3C header as it came; may be empty or wrong
  int status = 200;                   // 499: the client left
  std::string error_code;             // of the error body; empty: none
  std::uint64_t engine_request = 0;   // the engine's id of it; 0: it never got there
  std::vector<AnswerRecord> answers;  // those that the engine ended; none if it never got there
  int n = 1, priority = 0;
  std::int64_t max_tokens = 0;
  double temperature = 1.0, top_p = 1.0;
  TimePoint received{}, finished{};

  std::int64_t prompt_tokens() const noexcept { return answers.empty() ? 0 : answers.front().stats.prompt_tokens; }
  std::int64_t cached_tokens() const noexcept { return answers.empty() ? 0 : answers.front().stats.cached_tokens; }
  std::int64_t output_tokens() const noexcept {
    std::int64_t sum = 0;
    for (const AnswerRecord& answer : answers) sum += answer.stats.output_tokens;
    return sum;
  }
};

// What began and what never did, by the clock's zero.
inline bool happened(TimePoint time) noexcept { return time != TimePoint{}; }

}  // namespace millrace::server::observe
