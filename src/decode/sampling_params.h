#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace millrace::decode {

// How tokens are chosen and when an answer ends. Names and neutral values as in vLLM.
struct SamplingParams {
  double temperature = 1.0;         // 0 = greedy; up to 100
  std::int64_t top_k = 0;           // keep the k likeliest; 0 or -1 = all
  double top_p = 1.0;               // keep the smallest set with this probability; (0, 1]
  double min_p = 0.0;               // drop tokens less likely than min_p times the likeliest; [0, 1]
  double repetition_penalty = 1.0;  // of tokens seen in prompt or answer (arXiv:1909.05858); (0, 10]
  std::uint64_t seed = 0;
  std::int64_t max_tokens = 16;   // of the answer; at least 1
  std::vector<std::string> stop;  // the answer ends before the first of these
  bool ignore_eos = false;

  bool greedy() const noexcept { return temperature == 0.0; }
  // kInvalidArgument naming the field, the value and the limit.
  Result<void> validate() const;
};

}  // namespace millrace::decode
