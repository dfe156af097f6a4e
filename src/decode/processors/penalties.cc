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
  return {.name = "penalties",
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
          .apply = apply};
}

}  // namespace millrace::decode::processors
