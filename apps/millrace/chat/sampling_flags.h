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

// Sampling flags. Values not given come from the model's generation_config, else from the defaults for chats.
struct SamplingFlags {
  OptionValues given;  // values of samplers' options
  std::optional<std::uint64_t> seed;
  std::optional<std::int64_t> max_tokens;
  std::vector<std::string> stop;
  bool ignore_eos = false;
  std::vector<std::string> samplers;  // names, in the order in which they apply
  std::vector<std::string> dry_sequence_breakers = decode::kDefaultSequenceBreakers;

  void declare(CLI::App& app);
  // `tokenizer` may be null before a model is loaded, if the result is only checked.
  decode::SamplingParams resolve(const checkpoint::GenerationDefaults& defaults, std::uint64_t random_seed,
                                 const text::Tokenizer* tokenizer) const;
};

}  // namespace millrace::app
