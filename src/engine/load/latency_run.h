#pragma once

#include <cstdint>
#include <vector>

#include "backend/timed_backend.h"
#include "engine/engine.h"

namespace millrace::engine::load {

// A batch of sequences of equal length: first all prompts are computed, then each step decodes one token of each.
struct LatencyLoad {
  std::int64_t batch = 1;
  std::int64_t prompt_tokens = 512;
  std::int64_t output_tokens = 128;       // of each answer, at least 2, as TPOT needs two
  std::uint64_t seed = 0;                 // of the prompts
  std::vector<AdapterUse> adapters = {};  // which sequences take by turns; empty: none
};

// Times of one run.
struct LatencySample {
  double ttft_ms = 0.0;     // from submission to a sequence's first token, mean over the sequences
  double prefill_ms = 0.0;  // from submission to the first token of the last sequence; = ttft_ms of a batch of one
  double tpot_ms = 0.0;     // mean time of a step that decodes one token of each sequence, output_tokens - 1 steps
  double latency_ms = 0.0;  // prefill_ms + (output_tokens - 1) * tpot_ms
  double outside_ms = 0.0;  // part of tpot_ms outside the backend: planning, sampling, bookkeeping
  std::int64_t decode_steps = 0;
};

// Tokens of whole KV pages that the load needs.
std::int64_t kv_tokens(const LatencyLoad& load, std::int64_t block_tokens) noexcept;

// Runs the load once on an idle engine, on the calling thread. Prompts are random, end-of-sequence tokens are ignored,
// and sampling is greedy. Each sequence has a session, and its prompt and its answer are two requests, so that no
// decode step computes a prompt. `timed` must be the backend of the engine's model. Throws LoadError if the engine
// rejects a request, for example one that is too long.
LatencySample run_latency(engine::Engine& engine, const backend::TimedBackend& timed, std::int64_t vocabulary,
                          const LatencyLoad& load);

}  // namespace millrace::engine::load
