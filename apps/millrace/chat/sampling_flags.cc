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
  add("--presence-penalty", p.presence_penalty,
      "Presence penalty, subtracted from the logit of each token already in the completion; 0 = none");
  add("--frequency-penalty", p.frequency_penalty,
      "Frequency penalty, subtracted from a token's logit once per occurrence in the completion; 0 = none");
  add("--repeat-last-n", p.repeat_last_n,
      "Last n tokens that repetition, presence and frequency penalties look at; -1 = all, 0 = none");
  add("--no-repeat-ngram-size", p.no_repeat_ngram_size,
      "Size n of token n-grams that may not occur twice; 0 = no restriction");
  add("--dynatemp-range", p.dynatemp_range,
      "Dynamic temperature range: temperature varies by up to this with the entropy of the distribution; 0 = off");
  add("--dynatemp-exp", p.dynatemp_exponent,
      "Dynamic temperature exponent, applied to the normalized entropy; used with --dynatemp-range");
  add("--typical-p,--typical", p.typical_p,
      "Locally typical sampling: keep tokens closest to the entropy up to this total probability; 1 = all");
  add("--top-n-sigma", p.top_n_sigma,
      "Keep tokens whose logit is within n standard deviations of the largest; -1 = all");
  add("--xtc-probability", p.xtc_probability,
      "XTC: chance that all tokens above --xtc-threshold except the least likely are removed; 0 = never");
  add("--xtc-threshold", p.xtc_threshold,
      "XTC: min probability of the tokens that --xtc-probability removes; above 0.5 = off");
  add("--dry-multiplier", p.dry_multiplier,
      "DRY: multiplier of the penalty for tokens that extend a repetition; 0 = off");
  add("--dry-base", p.dry_base, "DRY: factor by which the penalty grows with each further repeated token");
  add("--dry-allowed-length", p.dry_allowed_length, "DRY: repetition length in tokens from which the penalty applies");
  add("--dry-penalty-last-n", p.dry_penalty_last_n, "DRY: last n tokens to search for repetitions; -1 = all, 0 = none");
  add("--mirostat", p.mirostat_mode,
      "Mirostat version that keeps the surprise of tokens at --mirostat-tau: 1 or 2; 0 = off");
  add("--mirostat-tau,--mirostat-ent", p.mirostat_tau, "Mirostat target surprise (cross-entropy) in bits");
  add("--mirostat-eta,--mirostat-lr", p.mirostat_eta, "Mirostat learning rate, between 0 and 1");
}

}  // namespace

void SamplingFlags::declare(CLI::App& app) {
  app.add_option("--temperature,--temp", temperature,
                 fmt::format("Sampling temperature; 0 = greedy; default the model's, else {}", kTemperature));
  app.add_option("--top-k", top_k, "Sample only from the k most likely tokens; 0 = all");
  app.add_option("--top-p", top_p,
                 fmt::format("Sample only from the smallest set of tokens whose total probability reaches this; 1 = "
                             "all; default the model's, else {}",
                             kTopP));
  app.add_option("--min-p", min_p,
                 fmt::format("Drop tokens less likely than this fraction of the most likely token's probability; 0 = "
                             "none; default the model's, else {}",
                             kMinP));
  app.add_option("--repetition-penalty", repetition_penalty,
                 "Repetition penalty of tokens already in prompt or completion, less likely above 1; 1 = none");
  app.add_option("--seed", seed, "Random seed of sampling; the same seed gives the same completion; default random")
      ->check(CLI::NonNegativeNumber);
  app.add_option("-n,--max-tokens", max_tokens, fmt::format("Max tokens of a completion; default {}", kMaxTokens));
  app.add_option("--stop", stop, "Stop string: the completion ends before this text; may be repeated")
      ->allow_extra_args(false);
  declare_others(app, others);
  app.add_option("--dry-sequence-breaker", dry_sequence_breakers,
                 "DRY: text that ends a repetition, e.g. a newline; may be repeated")
      ->allow_extra_args(false)
      ->group("Samplers");
  app.add_option("--samplers", samplers,
                 fmt::format("Order of the samplers, separated by semicolons; default {}",
                             fmt::join(decode::sampler_names(), ";")))
      ->delimiter(';')
      ->allow_extra_args(false)
      ->group("Samplers");
  app.add_flag("--ignore-eos", ignore_eos, "Continue past end-of-sequence tokens, up to --max-tokens");
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
