#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/option_spec.h"
#include "checkpoint/generation_config.h"
#include "decode/sampling_params.h"
#include "decode/sequence_breakers.h"
#include "text/tokenizer.h"

namespace CLI {
class App;
}

namespace millrace::app {

// Sampling flags; what is not given comes from the model's generation_config, else from the defaults for chatting.
struct SamplingFlags {
  OptionValues given;  // of logits processors
  std::optional<std::uint64_t> seed;
  std::optional<std::int64_t> max_tokens;
  std::vector<std::string> stop;
  bool ignore_eos = false;
  std::vector<std::string> samplers;  // in this order
  std::vector<std::string> dry_sequence_breakers = decode::kDefaultSequenceBreakers;

  void declare(CLI::App& app);
  // `tokenizer` may be null while no model is loaded: for checks alone.
  decode::SamplingParams resolve(const checkpoint::GenerationDefaults& defaults, std::uint64_t random_seed,
                                 const text::Tokenizer* tokenizer) const;
};

}  // namespace millrace::app
