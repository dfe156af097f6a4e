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

// One finished request to a model, for logs, metrics and traces. Contains neither prompt nor answer.
struct RequestRecord {
  std::string model, route;  // configured names, used as labels; empty model = rejected before a model was chosen
  std::string tenant;        // a configured name; empty = none
  std::string request_id;    // the id that the client sees
  std::string trace_parent;  // the W3C header as sent; may be empty or invalid
  int status = 200;          // 499: the client left
  std::string error_code;    // of the error body; empty = no error
  std::uint64_t engine_request = 0;   // the engine's id; 0 = never submitted
  std::vector<AnswerRecord> answers;  // answers that the engine ended; empty if never submitted
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

// False for the clock's zero, which means that something never happened.
inline bool happened(TimePoint time) noexcept { return time != TimePoint{}; }

}  // namespace millrace::server::observe
