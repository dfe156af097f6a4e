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

// Sampling flags of `millrace run`. Values that are not given come from the model's generation_config.json if it has
// any, else from the defaults of chats: temperature 0.7, top_p 0.95, min_p 0.05.
struct SamplingFlags {
  OptionValues given;                      // values of options of logits processors
  std::optional<std::uint64_t> seed;       // nothing: random
  std::optional<std::int64_t> max_tokens;  // of an answer; nothing: 2048
  std::vector<std::string> stop;
  bool ignore_eos = false;
  std::vector<std::string> samplers;  // names in the order of application; empty: the default order
  std::vector<std::string> dry_sequence_breakers = decode::kDefaultSequenceBreakers;

  void declare(CLI::App& app);
  // The sampling parameters, with `random_seed` if no seed was given. A null `tokenizer` leaves the sequence breakers
  // of DRY empty: for checks before a model is loaded. Throws LoadError for an option that is out of range; other
  // values are checked by SamplingParams::validate().
  decode::SamplingParams resolve(const checkpoint::GenerationDefaults& defaults, std::uint64_t random_seed,
                                 const text::Tokenizer* tokenizer) const;

 private:
  void declare_further(CLI::App& app);  // those that models have no defaults for
};

}  // namespace millrace::app
