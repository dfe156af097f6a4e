#include <algorithm>
#include <limits>

#include "decode/processor.h"

namespace millrace::decode::processors {
namespace {

constexpr std::size_t kOpening = 4;  // tokens within which reasoning begins: white space may come first

void apply(const SamplingContext& at, Candidates& candidates) {
  const ThinkingBudget& budget = *at.params.thinking_budget;
  const std::span<const std::int32_t> answer = at.history.answer();
  if (std::ssize(answer) < budget.tokens || std::ranges::find(answer, budget.close) != answer.end()) return;
  const auto opening = answer.first(std::min(answer.size(), kOpening));
  if (budget.open >= 0 && std::ranges::find(opening, budget.open) == opening.end()) return;  // no thought
  if (find_candidate(candidates, budget.close) == nullptr) return;
  for (Candidate& candidate : candidates) {
    if (candidate.token != budget.close) candidate.logit = -std::numeric_limits<float>::infinity();
  }
}

}  // namespace

Processor thinking_budget() {
  return {.name = "",
          .alias = "",
          .place = 5,
          .stage = Stage::kBan,
          .reads_tokens = true,
          .reads_counts = false,
          .active = [](const SamplingParams& p) { return p.thinking_budget.has_value(); },
          .apply = apply};
}

}  // namespace millrace::decode::processors
