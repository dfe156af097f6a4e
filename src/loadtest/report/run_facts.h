#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

// What is known of a run besides what its client saw (docs/bench_reports.md: `server`, `samples`, `steps`, `phases`). What
// nobody knows is nullopt or empty.

namespace millrace::loadtest {

struct ServerFacts {
  std::optional<std::int64_t> model_bytes, parameters, kv_bytes_per_token, kv_capacity_tokens;
  std::optional<std::int64_t> resident_peak_bytes;
  std::optional<double> cpu_seconds;               // of its processes, during the run
  std::optional<double> mbu_percent, mfu_percent;  // during its steps
  std::optional<double> read_gb_s, peak_gop_s;     // the limits the two are shares of
  std::optional<double> energy_joules;             // of the machine's packages
  std::map<std::string, double> counters;          // increases during the run, by name
};

// Lists of one length; t in seconds of the run's clock.
struct ServerSamples {
  std::vector<double> t, running, waiting, kv_used, prefill_tok_s, decode_tok_s, mbu_percent, resident_bytes;
};

// One entry a scheduler step; t is its begin in seconds of the run's clock.
struct StepSamples {
  std::vector<double> t, ms;
  std::vector<std::int64_t> prefill_tokens, decode_tokens, sequences, running, waiting, pages_used, pages_free,
      preempted;
};

// What the server did for one request.
struct Phase {
  enum class Kind { kQueue, kPrefill, kDecode } kind = Kind::kQueue;
  double start = 0.0, end = 0.0;  // seconds of the run's clock
  std::int64_t tokens = 0;
};
using PhasesById = std::map<std::string, std::vector<Phase>>;  // by the reply's id

}  // namespace millrace::loadtest
