#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/model_config.h"
#include "decode/sampling_params.h"

namespace millrace::app {

// Sampling flags; what is not given comes from the model's generation_config, else from the defaults for chatting.
struct SamplingFlags {
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<std::int64_t> top_k;
  std::optional<std::uint64_t> seed;
  std::optional<std::int64_t> max_tokens;
  std::vector<std::string> stop;
  bool ignore_eos = false;

  void declare(CLI::App& app);
  decode::SamplingParams resolve(const checkpoint::GenerationDefaults& defaults, std::uint64_t random_seed) const;
};

}  // namespace millrace::app
