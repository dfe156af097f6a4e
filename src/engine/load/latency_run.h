#pragma once

#include <cstdint>

#include "backend/timed_backend.h"
#include "engine/engine.h"

namespace millrace::engine::load {

// `batch` sequences of equal length side by side: first all prompts, then all answers, one token of each a step.
struct LatencyLoad {
  std::int64_t batch = 1;
  std::int64_t prompt_tokens = 512;
  std::int64_t output_tokens = 128;  // at least 2: a time between tokens needs two
  std::uint64_t seed = 0;            // of the prompts
};

// What one run took.
struct LatencySample {
  double ttft_ms = 0.0;     // from submission to a sequence's first token, mean over the sequences
  double prefill_ms = 0.0;  // from submission to the first token of the last sequence; = ttft_ms of a batch of one
  double tpot_ms = 0.0;     // of a step that decodes one token of each sequence, mean over the output_tokens - 1 steps
  double latency_ms = 0.0;  // prefill_ms + (output_tokens - 1) * tpot_ms
  double outside_ms = 0.0;  // of tpot_ms, what was spent outside the kernels: planning, sampling tokens, bookkeeping
  std::int64_t decode_steps = 0;
};

// Key/value pages that the load needs, in tokens.
std::int64_t kv_tokens(const LatencyLoad& load, std::int64_t block_tokens) noexcept;

// Runs the load once on an idle engine. Prompts are random, ends of sequence ignored, tokens sampled greedily. The two
// phases are separate requests of one session each, so that no decode step carries a prompt. Throws LoadError where the
// engine refuses (longer than the model allows).
// `timed` is the backend that the engine's model runs on.
LatencySample run_latency(engine::Engine& engine, const backend::TimedBackend& timed, std::int64_t vocabulary,
                          const LatencyLoad& load);

}  // namespace millrace::engine::load
