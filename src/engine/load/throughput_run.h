#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/engine.h"
#include "metrics/token_range.h"

namespace millrace::engine::load {

// A closed loop of `requests` requests: `concurrency` of them are in flight, and a further one is submitted when one
// ends.
struct ThroughputLoad {
  std::int64_t requests = 64;
  std::int64_t concurrency = 32;
  metrics::TokenRange input{128, 128}, output{64, 64};
  std::int64_t shared_prefix = 0;  // tokens of a prefix that all prompts share, before `input` tokens of their own
  std::uint64_t seed = 0;
  std::optional<int> logprobs, prompt_logprobs;  // Request fields; nothing: not wanted
};

struct ThroughputRun {
  double seconds = 0.0;  // from the first submission to the last token
  std::int64_t steps = 0;
  std::int64_t input_tokens = 0, output_tokens = 0;
  std::vector<engine::RequestStats> requests;  // in the order in which they ended

  // Shares of the KV cache's token slots, [0, 1], mean over the steps in which requests waited; 0 if none waited. Live:
  // computed tokens of running requests. Held: those and the slots of cached pages.
  double live_share = 0.0, held_share = 0.0;

  // Mean number of tokens computed in a step, prompt and decode together.
  double mean_step_tokens() const noexcept;
  // Mean number of tokens sampled in a step.
  double mean_step_outputs() const noexcept;
};

// Tokens of whole KV pages that the load needs at once.
std::int64_t kv_tokens(const ThroughputLoad& load, std::int64_t block_tokens) noexcept;

// Runs the load on an idle engine (CHECK), on the calling thread. End-of-sequence tokens are ignored, so that each
// answer has the length sampled for it. Throws LoadError if the engine rejects a request or one fails.
ThroughputRun run_throughput(engine::Engine& engine, Env& env, std::int64_t vocabulary, const ThroughputLoad& load);

}  // namespace millrace::engine::load
