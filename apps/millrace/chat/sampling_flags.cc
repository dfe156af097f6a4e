#include "chat/sampling_flags.h"
#include "cli.h"

#include <fmt/ranges.h>

#include "decode/processor.h"

namespace millrace::app {
namespace {

// For chatting with a model whose authors ship no defaults: lively, but without the tail that small models get lost in.
constexpr double kTemperature = 0.7, kTopP = 0.95, kMinP = 0.05;
constexpr std::int64_t kMaxTokens = 2048;

// Names of llama.cpp, where it has the flag.
void declare_others(CLI::App& app, decode::SamplingParams& p) {
  const auto add = [&](const char* flag, auto& value, const char* about) {
    app.add_option(flag, value, about)->group("Samplers");
  };
  add("--presence-penalty", p.presence_penalty, "Off the logit of each token that the answer has");
  add("--frequency-penalty", p.frequency_penalty, "And this as often as it has it");
  add("--repeat-last-n", p.repeat_last_n, "Of how many tokens penalties know; -1 = all, 0 = none");
  add("--no-repeat-ngram-size", p.no_repeat_ngram_size, "No n tokens come twice; 0 = any may");
  add("--dynatemp-range", p.dynatemp_range, "Temperature moves as far up and down with the entropy; 0 = it does not");
  add("--dynatemp-exp", p.dynatemp_exponent, "Of the entropy's share of its maximum");
  add("--typical-p,--typical", p.typical_p, "Keep the tokens of this probability nearest to the entropy; 1 = all");
  add("--top-n-sigma", p.top_n_sigma, "Keep logits within n standard deviations of the largest; -1 = all");
  add("--xtc-probability", p.xtc_probability, "How often the likeliest tokens go but the last above the threshold");
  add("--xtc-threshold", p.xtc_threshold, "Which tokens are likely for --xtc-probability; above 0.5 = none");
  add("--dry-multiplier", p.dry_multiplier, "Penalty of tokens that lengthen a repetition; 0 = none");
  add("--dry-base", p.dry_base, "It grows by this with each token");
  add("--dry-allowed-length", p.dry_allowed_length, "Beyond so many tokens");
  add("--dry-penalty-last-n", p.dry_penalty_last_n, "Within so many last tokens; -1 = all");
  add("--mirostat", p.mirostat_mode, "1 or 2: hold the surprise of tokens at --mirostat-tau bits; 0 = do not");
  add("--mirostat-tau,--mirostat-ent", p.mirostat_tau, "Bits of surprise");
  add("--mirostat-eta,--mirostat-lr", p.mirostat_eta, "How fast it gets there");
}

}  // namespace

void SamplingFlags::declare(CLI::App& app) {
  app.add_option("--temperature,--temp", temperature, "0 = greedy");
  app.add_option("--top-k", top_k, "Keep the k likeliest tokens; 0 = all");
  app.add_option("--top-p", top_p, "Keep the smallest set of tokens with this probability");
  app.add_option("--min-p", min_p, "Drop tokens less likely than this times the likeliest");
  app.add_option("--repetition-penalty", repetition_penalty, "Of tokens already seen; 1 = none");
  app.add_option("--seed", seed, "The same seed gives the same answer; default random")->check(CLI::NonNegativeNumber);
  app.add_option("-n,--max-tokens", max_tokens, "Greatest length of an answer");
  app.add_option("--stop", stop, "End the answer before this text; may be repeated")->allow_extra_args(false);
  declare_others(app, others);
  app.add_option("--dry-sequence-breaker", dry_sequence_breakers, "A repetition ends here; may be repeated")
      ->allow_extra_args(false)
      ->group("Samplers");
  app.add_option("--samplers", samplers, fmt::format("In which order: {}", fmt::join(decode::sampler_names(), ";")))
      ->delimiter(';')
      ->allow_extra_args(false)
      ->group("Samplers");
  app.add_flag("--ignore-eos", ignore_eos, "Go on past the model's end of text, to the length limit");
}

decode::SamplingParams SamplingFlags::resolve(const checkpoint::GenerationDefaults& defaults, std::uint64_t random_seed,
                                              const text::Tokenizer* tokenizer) const {
  const bool model_says =
      defaults.temperature || defaults.top_p || defaults.top_k || defaults.min_p || defaults.do_sample;
  decode::SamplingParams params = others;
  params.temperature = temperature.value_or(
      defaults.do_sample == false ? 0.0 : defaults.temperature.value_or(model_says ? 1.0 : kTemperature));
  params.top_p = top_p.value_or(defaults.top_p.value_or(model_says ? 1.0 : kTopP));
  params.min_p = min_p.value_or(defaults.min_p.value_or(model_says ? 0.0 : kMinP));
  params.top_k = top_k.value_or(defaults.top_k.value_or(0));
  params.repetition_penalty = repetition_penalty.value_or(defaults.repetition_penalty.value_or(1.0));
  params.seed = seed.value_or(random_seed);
  params.max_tokens = max_tokens.value_or(kMaxTokens);
  params.stop = stop;
  params.ignore_eos = ignore_eos;
  params.samplers = samplers;
  if (tokenizer != nullptr && params.dry_multiplier > 0.0) {
    params.dry_sequence_breakers = decode::find_sequence_breakers(dry_sequence_breakers, *tokenizer);
  }
  return params;
}

}  // namespace millrace::app
