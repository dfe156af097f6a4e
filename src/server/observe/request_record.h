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

// One finished request, as logs, metrics and traces need it. Contains neither prompts nor answers.
struct RequestRecord {
  std::string model, route;           // labels of metrics; empty model: rejected before it got to one
  std::string adapter;                // names of its adapters, joined by "+"; empty: none
  std::string path;                   // as sent, without its query; empty: none came
  std::string tenant;                 // empty: none
  std::string request_id;             // as clients see it
  std::string trace_parent;           // the header `traceparent` as it came; may be empty or wrong
  int status = 200;                   // of the reply; 499: the client left
  std::string error_code;             // `code` of the error; empty: none
  std::uint64_t engine_request = 0;   // the engine's id of the request; 0: no output came
  std::vector<AnswerRecord> answers;  // the answers that the engine ended
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

// Whether `time` is set; the zero of the clock stands for what never happened.
inline bool happened(TimePoint time) noexcept { return time != TimePoint{}; }

}  // namespace millrace::server::observe
