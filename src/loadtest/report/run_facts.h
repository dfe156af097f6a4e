#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "loadtest/interference.h"
#include "loadtest/load_run.h"
#include "loadtest/run_metrics.h"

// The content of a report besides its requests (docs/bench_reports.md). Times are seconds from the run's start.

namespace millrace::loadtest::report {

// The load as the user asked for it, and its target.
struct LoadFacts {
  std::string backend = "openai";       // "openai" or "openai-chat", vLLM's names of the two endpoints
  std::string label, model, tokenizer;  // "" = none
  std::optional<double> request_rate;   // nothing: all at once ("inf"), or a closed loop
  double burstiness = 1.0;
  std::optional<std::int64_t> max_concurrency;
  std::string url;
  std::string server, server_version;  // as ServedModel has them; "" = not known
  std::string spawned;                 // command of the server that the benchmark started; "" = it was running
  bool closed = false;                 // closed loop
  std::string workload, arrivals;      // arrivals: "poisson", "gamma", "constant", "ramp", "trace", "closed"
  std::int64_t users = 0, sessions = 0, turns = 1, warmup = 0;
  double think_s = 0.0;
  std::uint64_t seed = 0;
};

// The server during the run; absent: unknown.
struct ServerFacts {
  std::optional<double> model_bytes, kv_bytes_per_token, kv_capacity_tokens, resident_peak_bytes;
  std::optional<double> cpu_seconds, mbu_percent, mfu_percent;
  std::optional<double> read_gb_s, peak_gop_s;  // the limits for MBU and MFU
  // MBU or MFU is not known as it came to more than 100 %: its limit was measured under load.
  bool limit_exceeded = false;
  std::optional<double> energy_joules;
  std::vector<std::pair<std::string, double>> counters;  // increase during the run
};

// The server's /metrics over time; all lists have the same length. NaN: unknown at that time.
struct ServerSamples {
  std::vector<double> t, running, waiting, kv_used, prefill_tok_s, decode_tok_s, mbu_percent, resident_bytes;
};

// The scheduler's steps from the server's trace; all lists have the same length.
struct StepSamples {
  std::vector<double> t, ms;
  std::vector<std::int64_t> prefill_tokens, decode_tokens, sequences, running, waiting, pages_used, pages_free,
      preempted;
};

// A phase of one request, from the server's trace.
struct RequestPhase {
  enum class Kind { kQueue, kPrefill, kDecode } kind = Kind::kQueue;
  double start = 0.0, end = 0.0;
  std::int64_t tokens = 0;
};
using RequestPhases = std::map<std::int64_t, std::vector<RequestPhase>>;  // by RequestRecord::index

// Everything that a report of one run is made of. The pointers are borrowed; null: unknown.
struct RunFacts {
  const LoadRun* run = nullptr;         // never null
  const RunMetrics* metrics = nullptr;  // never null
  const LoadFacts* load = nullptr;      // never null
  std::span<const Slo> slos;            // the SLOs of `metrics`
  const ServerFacts* server = nullptr;
  const ServerSamples* samples = nullptr;
  const StepSamples* steps = nullptr;
  const RequestPhases* phases = nullptr;
  const Interference* noise = nullptr;
};

}  // namespace millrace::loadtest::report
