#include "engine/load/needle_evaluation.h"

#include <algorithm>
#include <ranges>

namespace millrace::engine::load {
namespace {

// Answers prompts one after the other in one window.
class GreedyReader {
 public:
  GreedyReader(const ScoredModel& scored, std::int64_t length, std::int64_t chunk)
      : window_(scored, length), chunk_(chunk) {}

  std::vector<std::int32_t> answer(std::span<const std::int32_t> prompt, std::int64_t max_tokens,
                                   std::span<const std::int32_t> ends) {
    const auto common = std::ranges::mismatch(held_, prompt).in2 - prompt.begin();
    // The last token is computed in any case: its logits are the first of the answer.
    std::int32_t next = compute(prompt, std::min(common, std::ssize(prompt) - 1));
    held_.assign(prompt.begin(), prompt.end());
    std::vector<std::int32_t> answer;
    while (std::ranges::find(ends, next) == ends.end()) {
      answer.push_back(next);
      if (std::ssize(answer) == max_tokens) break;
      held_.push_back(next);
      next = compute(held_, std::ssize(held_) - 1);
    }
    return answer;
  }

 private:
  // Computes the tokens from position `at` on; returns the most likely one to follow.
  std::int32_t compute(std::span<const std::int32_t> tokens, std::int64_t at) {
    std::int32_t next = 0;
    for (; at < std::ssize(tokens); at += chunk_) {
      const std::int64_t n = std::min(chunk_, std::ssize(tokens) - at);
      const bool last = at + n == std::ssize(tokens);
      const auto chunk = tokens.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(n));
      const TensorView logits = window_.compute(chunk, at, last ? n - 1 : n, n);
      if (!last) continue;
      const std::span<const float> row = row_of(logits, 0);
      next = static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin());
    }
    return next;
  }

  ModelWindow window_;
  const std::int64_t chunk_;
  std::vector<std::int32_t> held_;  // whose keys and values the window has
};

// Whether the first number of an answer is this one.
bool names(std::string_view answer, std::string_view number) {
  constexpr std::string_view kDigits = "0123456789";
  answer.remove_prefix(std::min(answer.find_first_of(kDigits), answer.size()));
  return answer.substr(0, answer.find_first_not_of(kDigits)) == number;
}

}  // namespace

std::vector<std::vector<bool>> find_needles(const ScoredModel& scored, const NeedleLoad& load, std::int64_t length) {
  GreedyReader reader(scored, length, load.chunk);
  std::vector<std::vector<bool>> found(load.depths.size(), std::vector<bool>(static_cast<std::size_t>(load.trials)));
  // From the greatest depth on, as that prompt has the most of the beginning that all share.
  for (std::size_t i = load.depths.size(); i-- > 0;) {
    for (std::int64_t trial = 0; trial < load.trials; ++trial) {
      const std::string number = needle_number(load.seed, trial, load.depths[i]);
      const auto prompt = needle_prompt(load.encode, length, load.depths[i], number).or_throw();
      const auto answer = reader.answer(prompt, kNeedleAnswerTokens, load.tokenizer.end_of_generation());
      found[i][static_cast<std::size_t>(trial)] = names(load.tokenizer.decode(answer, true), number);
    }
  }
  return found;
}

}  // namespace millrace::engine::load
