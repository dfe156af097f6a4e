#include "speculation_flags.h"

#include <fmt/format.h>

namespace millrace::app {

void SpeculationFlags::declare(CLI::App& app) {
  std::string methods = "none";
  for (const draft::DrafterKind& kind : draft::all_drafters()) {
    methods += fmt::format(", {} ({})", kind.name, kind.description);
  }
  app.add_option("--spec-method", method, "Guess the next tokens and check several in one step: " + methods);
  app.add_option("--spec-tokens,--num-speculative-tokens", tokens, "Tokens guessed of an answer in a step, at most")
      ->check(CLI::Range(std::int64_t{1}, draft::kMostTokens));
  app.add_flag("--spec-adaptive,!--no-spec-adaptive", adaptive,
               "Check only as many guesses as make the answer faster, by what was measured so far");
  app.add_option("--spec-ngram-min,--prompt-lookup-min", options.ngram_min, "Tokens alike before ngram guesses");
  app.add_option("--spec-ngram-max,--prompt-lookup-max", options.ngram_max, "Tokens that ngram compares at most");
  app.add_option("--spec-suffix-tokens", options.suffix_tokens,
                 "Tokens of earlier answers that suffix remembers; 0 = none");
}

void SpeculationFlags::apply(engine::Engine& engine) const {
  if (method == "none") return;
  engine.speculate(
      std::make_unique<engine::Speculation>(draft::make_drafter(method, options).or_throw(),
                                            engine::SpeculationConfig{.tokens = tokens, .adaptive = adaptive}));
}

}  // namespace millrace::app
