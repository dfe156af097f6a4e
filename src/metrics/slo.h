#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace::metrics {

// A service level objective: the limits that a good request meets. 0 = no limit.
struct Slo {
  double ttft_ms = 0.0, tpot_ms = 0.0, latency_ms = 0.0;
  bool met(double ttft, double tpot, double latency) const noexcept;  // arguments in ms, of a complete answer
  std::string str() const;                                            // "ttft 1000 ms, tpot 150 ms"
};

// Parses vLLM's notation of one SLO: {"ttft:1000", "tpot:150", "e2el:5000"}. A word may contain several limits,
// separated by commas; a "/" begins another SLO: "ttft:200,tpot:50/ttft:1000,tpot:150". kInvalidArgument naming `flag`.
Result<std::vector<Slo>> parse_slos(std::string_view flag, std::span<const std::string> words);

}  // namespace millrace::metrics
