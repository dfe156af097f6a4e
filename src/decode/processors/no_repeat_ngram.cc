#include "decode/processor.h"

namespace millrace::decode::processors {
namespace {

// Hugging Face's no_repeat_ngram_size (Paulus et al., arXiv:1705.04304): bans each token that stood, in prompt or
// answer, behind the last n - 1 tokens. Most places differ from the end in their first comparison.
void apply(const SamplingContext& at, Candidates& candidates) {
  const History& history = at.history;
  const std::int64_t before = at.params.no_repeat_ngram_size - 1;
  for (std::int64_t end = 1; end + before <= history.size(); ++end) {  // the token `end - 1` before the last
    std::int64_t same = 0;
    while (same < before && history.from_end(same) == history.from_end(end + same)) ++same;
    if (same == before) ban_token(candidates, history.from_end(end - 1));
  }
}

}  // namespace

Processor no_repeat_ngram() {
  return {
      .name = "",
      .alias = "",
      .place = 20,
      .stage = Stage::kBan,
      .reads_tokens = true,
      .reads_counts = false,
      .active = [](const SamplingParams& p) { return p.no_repeat_ngram_size > 0; },
      .apply = apply,
      .options = {{.spec = {.name = "no_repeat_ngram_size",
                            .kind = OptionSpec::Kind::kWhole,
                            .high = 64.0,
                            .help = "Size of n-grams that must not occur twice in prompt and completion; 0 = any may"},
                   .member = &SamplingParams::no_repeat_ngram_size}}};
}

}  // namespace millrace::decode::processors
