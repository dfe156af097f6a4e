#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/engine.h"
#include "metrics/token_range.h"

namespace millrace::engine::load {

// Offline serving: `requests` requests, `concurrency` of them in flight at any time as long as there are more (a closed
// loop: the next is submitted in the step after one ended).
struct ThroughputLoad {
  std::int64_t requests = 64;
  std::int64_t concurrency = 32;
  metrics::TokenRange input{128, 128}, output{64, 64};
  std::int64_t shared_prefix = 0;  // tokens that all prompts begin with alike, besides `input` of their own
  std::uint64_t seed = 0;
  std::optional<int> logprobs, prompt_logprobs;  // of every request
};

struct ThroughputRun {
  double seconds = 0.0;  // from the first submission to the last token
  std::int64_t steps = 0;
  std::int64_t input_tokens = 0, output_tokens = 0;
  std::vector<engine::RequestStats> requests;  // in the order they ended

  // Shares of the KV cache's slots, mean over the steps in which requests waited for it: held by a token of a running
  // request, and by that or a token that a later request may find. 0 where no request waited.
  double live_share = 0.0, held_share = 0.0;

  // Rows that an average step computed: prompt tokens and decoded tokens.
  double mean_step_tokens() const noexcept;
  // Tokens that an average step drew.
  double mean_step_outputs() const noexcept;
};

// Key/value pages that the load needs at once, in tokens.
std::int64_t kv_tokens(const ThroughputLoad& load, std::int64_t block_tokens) noexcept;

// Runs the load on an idle engine; ends of sequence are ignored, so that every request gets the answer length sampled
// for it. Throws LoadError where the engine refuses a request.
ThroughputRun run_throughput(engine::Engine& engine, Env& env, std::int64_t vocabulary, const ThroughputLoad& load);

}  // namespace millrace::engine::load
