#include <algorithm>

#include "decode/processor.h"

namespace millrace::decode::processors {
namespace {

// The last token of a sequence is banned where the answer ends with all before it; of one token, everywhere.
void apply(const SamplingContext& at, Candidates& candidates) {
  const std::span<const std::int32_t> answer = at.history.answer();
  for (const std::vector<std::int32_t>& word : at.params.bad_words) {
    const std::size_t before = word.size() - 1;
    if (before > answer.size()) continue;
    if (std::equal(word.begin(), word.end() - 1, answer.end() - static_cast<std::ptrdiff_t>(before))) {
      ban_token(candidates, word.back());
    }
  }
}

}  // namespace

Processor bad_words() {
  return {.name = "",
          .alias = "",
          .place = 10,
          .stage = Stage::kBan,
          .reads_tokens = true,
          .reads_counts = false,
          .active = [](const SamplingParams& p) { return !p.bad_words.empty(); },
          .apply = apply};
}

}  // namespace millrace::decode::processors
