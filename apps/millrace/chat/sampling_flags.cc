#include "chat/sampling_flags.h"

#include <CLI/Validators.hpp>

namespace millrace::app {
namespace {

// For chatting with a model whose authors ship no defaults: lively, but without the tail that small models get lost in.
constexpr double kTemperature = 0.7, kTopP = 0.95, kMinP = 0.05;
constexpr std::int64_t kMaxTokens = 2048;

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
  app.add_flag("--ignore-eos", ignore_eos, "Go on past the model's end of text, to the length limit");
}

decode::SamplingParams SamplingFlags::resolve(const checkpoint::GenerationDefaults& defaults,
                                              std::uint64_t random_seed) const {
  const bool model_says =
      defaults.temperature || defaults.top_p || defaults.top_k || defaults.min_p || defaults.do_sample;
  decode::SamplingParams params;
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
  return params;
}

}  // namespace millrace::app
