#include "chat/sampling_flags.h"
#include "cli.h"
#include "option_flags.h"

#include <fmt/ranges.h>

#include <optional>

#include "decode/processor.h"
#include "decode/sampler_option.h"
#include "option_heading.h"

namespace millrace::app {
namespace {

// For chatting with a model whose authors ship no defaults: lively, but without the tail that small models get lost in.
constexpr double kTemperature = 0.7, kTopP = 0.95, kMinP = 0.05;
constexpr std::int64_t kMaxTokens = 2048;

// What is used where neither the user nor the model says anything; nothing: the neutral value.
std::optional<double> chat_default(std::string_view option) {
  if (option == "temperature") return kTemperature;
  if (option == "top_p") return kTopP;
  if (option == "min_p") return kMinP;
  return std::nullopt;
}

}  // namespace

void SamplingFlags::declare(CLI::App& app) {
  const OptionHeading heading(app, "Sampling");
  for (const decode::SamplerOption* option : decode::all_sampler_options()) {
    if (!option->model_default) continue;
    const OptionSpec& spec = option->spec;
    const double otherwise = chat_default(spec.name).value_or(spec.neutral);
    declare_option(app, spec, given)
        ->description(fmt::format("{}; default the model's, else {}", spec.help, otherwise))
        ->default_str("");
  }
  app.add_option("--seed", seed, "Random seed of sampling; the same seed gives the same completion; default random")
      ->check(CLI::NonNegativeNumber);
  app.add_option("-n,--max-tokens", max_tokens, fmt::format("Max tokens of a completion; default {}", kMaxTokens));
  app.add_option("--stop", stop, "Stop string: the completion ends before this text; may be repeated")
      ->allow_extra_args(false);
  app.add_flag("--ignore-eos", ignore_eos, "Continue past end-of-sequence tokens, up to --max-tokens");
  declare_further(app);
}

void SamplingFlags::declare_further(CLI::App& app) {
  const OptionHeading heading(app, "Further samplers");
  for (const decode::SamplerOption* option : decode::all_sampler_options()) {
    if (!option->model_default) declare_option(app, option->spec, given);
  }
  app.add_option("--dry-sequence-breaker", dry_sequence_breakers,
                 "DRY: text that ends a repetition, e.g. a newline; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--samplers", samplers,
                 fmt::format("Order of the samplers, separated by semicolons; default {}",
                             fmt::join(decode::sampler_names(), ";")))
      ->delimiter(';')
      ->allow_extra_args(false);
}

decode::SamplingParams SamplingFlags::resolve(const checkpoint::GenerationDefaults& defaults, std::uint64_t random_seed,
                                              const text::Tokenizer* tokenizer) const {
  const bool model_says =
      defaults.temperature || defaults.top_p || defaults.top_k || defaults.min_p || defaults.do_sample;
  decode::SamplingParams params;
  decode::set_sampler_options(params, given, [&](std::string_view name) {
    const auto value = defaults.value_of(name);
    return value || model_says ? value : chat_default(name);
  }).or_throw();
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
