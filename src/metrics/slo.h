#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace::metrics {

// What a request must keep to count as good: a service level objective. 0 = any.
struct Slo {
  double ttft_ms = 0.0, tpot_ms = 0.0, latency_ms = 0.0;
  bool met(double ttft, double tpot, double latency) const noexcept;  // of a request that was answered whole, in ms
  std::string str() const;                                            // "ttft 1000 ms, tpot 150 ms"
};

// vLLM's way to say it, one objective: {"ttft:1000", "tpot:150", "e2el:5000"}. A word may hold several, with commas; a
// "/" begins the next objective: "ttft:200,tpot:50/ttft:1000,tpot:150". kInvalidArgument naming `flag`.
Result<std::vector<Slo>> parse_slos(std::string_view flag, std::span<const std::string> words);

}  // namespace millrace::metrics
