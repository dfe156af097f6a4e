#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "decode/token_scorer.h"
#include "draft/drafter.h"
#include "model/batch_input.h"

namespace millrace::draft {

inline constexpr std::int64_t kCatchUpTokens = 256;  // that a call computes at most before it drafts

// Drafts with a model: a pass over what it has not seen of the sequences, then a pass for each further token, of all
// sequences that go on. Tokens are drawn as the target draws them, with a copy of its pipeline and the same noise
// (Gumbel coupling, arXiv:2408.07978): where the two models agree about the likeliest sum of logit and noise, the guess
// is right, at any temperature. Branches are what it would draw first if it could not draw what it did, the next best
// sums, a token each: they need no keys and values of their own.
class DraftRounds {
 public:
  using Forward = std::function<TensorView(const model::BatchInput&)>;

  // `computed[i]`: tokens of tasks[i] whose keys and values the model has; grown by what this call adds, which is all
  // of them unless more than kCatchUpTokens are missing: then there is no draft. With `lag`, the row at a position is
  // of the token so many behind it, and there are as many rows fewer: for heads, which see a state and the token after
  // it.
  void run(std::span<Task> tasks, std::span<std::int64_t> computed, const Forward& forward, std::int64_t lag = 0);

 private:
  struct Active {
    Task* task = nullptr;
    decode::LogitsPipeline pipeline;
    double reached = 1.0;  // the model's own opinion that all so far are right
  };
  bool draw(Active& active, std::span<const float> logits);

  void branch(const Active& active, std::span<const float> logits, std::int32_t drawn);

  decode::TokenScorer scorer_;
  std::vector<float> others_;  // logits of what was not drawn
};

}  // namespace millrace::draft
