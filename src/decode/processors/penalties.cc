#include "decode/processor.h"

namespace millrace::decode::processors {
namespace {

// CTRL's repetition penalty (arXiv:1909.05858), as Hugging Face applies it: positive logits of tokens seen in prompt or
// answer divided, negative ones multiplied. Then OpenAI's presence and frequency penalties, of the answer's alone.
void apply(const SamplingContext& at, Candidates& candidates) {
  const auto factor = static_cast<float>(at.params.repetition_penalty);
  const double presence = at.params.presence_penalty, frequency = at.params.frequency_penalty;
  for (const Occurrence& seen : at.history.occurrences()) {
    Candidate* c = find_candidate(candidates, seen.token);
    if (c == nullptr) continue;
    c->logit = c->logit > 0.0f ? c->logit / factor : c->logit * factor;
    if (seen.in_answer > 0) {
      c->logit -= static_cast<float>(frequency * static_cast<double>(seen.in_answer) + presence);
    }
  }
}

}  // namespace

Processor penalties() {
  return {
      .name = "penalties",
      .alias = "",
      .place = 100,
      .stage = Stage::kAdjust,
      .reads_tokens = false,
      .reads_counts = true,
      .active =
          [](const SamplingParams& p) {
            return p.repeat_last_n != 0 &&
                   (p.repetition_penalty != 1.0 || p.presence_penalty != 0.0 || p.frequency_penalty != 0.0);
          },
      .apply = apply,
      .options = {
          {.spec = {.name = "repetition_penalty",
                    .alias = "repeat_penalty",
                    .high = 10.0,
                    .above_low = true,
                    .neutral = 1.0,
                    .help =
                        "Repetition penalty of tokens already in prompt or completion, less likely above 1; 1 = none"},
           .member = &SamplingParams::repetition_penalty,
           .model_default = true},
          {.spec = {.name = "presence_penalty",
                    .low = -2.0,
                    .high = 2.0,
                    .help =
                        "Presence penalty: subtracted from the logit of each token that the completion has; 0 = none"},
           .member = &SamplingParams::presence_penalty},
          {.spec = {.name = "frequency_penalty",
                    .low = -2.0,
                    .high = 2.0,
                    .help = "Frequency penalty: subtracted from a token's logit for each time that the completion has "
                            "it; 0 = none"},
           .member = &SamplingParams::frequency_penalty},
          {.spec = {.name = "repeat_last_n",
                    .kind = OptionSpec::Kind::kWhole,
                    .low = -1.0,
                    .high = kMaxOptionCount,
                    .neutral = -1.0,
                    .rule = "-1 (all), 0 (none) or a count",
                    .help = "Number of last tokens that repetition, presence and frequency penalties look at; -1 = "
                            "all, 0 = none"},
           .member = &SamplingParams::repeat_last_n}}};
}

}  // namespace millrace::decode::processors
