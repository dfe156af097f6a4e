#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "decode/token_scorer.h"
#include "draft/drafter.h"
#include "model/batch_input.h"

namespace millrace::draft {

// Limit of tokens that one call computes before it drafts; it bounds the rows of a pass.
inline constexpr std::int64_t kCatchUpTokens = 256;

// Drafts with a model: one pass over the tokens of the sequences that it has not computed, then one pass for each
// further token of all sequences. Tokens are sampled as the target samples them, with a copy of its pipeline and the
// same noise (Gumbel coupling, arXiv:2408.07978): where both models give the largest sum of logit and noise to the same
// token, the draft token is right, at any temperature. Branches of one token leave the draft where another token is
// likeliest to be right: the one with the next largest sum. They need no pass of their own.
class DraftRounds {
 public:
  using Forward = std::function<TensorView(const model::BatchInput&)>;

  // Drafts for place.sequences sequences at once, on place.backend.
  explicit DraftRounds(const DraftPlace& place) : backend_(*place.backend), max_(sequences(place)) {}
  // Limit of rows with logits of a pass.
  static std::int64_t sequences(const DraftPlace& place) { return std::min(place.sequences, kCatchUpTokens); }

  // computed[i] is the number of tokens of tasks[i] whose keys and values the model has. It grows by what this call
  // computes: all missing ones, unless these are more than kCatchUpTokens; then the sequence gets no draft. With `lag`
  // the row at a position is of the token `lag` positions later, and there are `lag` rows fewer: for heads, which read
  // a state and the token after it. Exceptions of `forward` pass through; then `computed` is as before.
  void run(std::span<Task> tasks, std::span<std::int64_t> computed, const Forward& forward, std::int64_t lag = 0);

 private:
  struct Active {
    Task* task = nullptr;
    decode::LogitsPipeline pipeline;
    double reached = 1.0;                  // the model's own opinion that all so far are right
    std::vector<double> branches_reached;  // and that a branch's are, its own token included: descending
  };
  TensorView pass(const Forward& forward, const model::BatchInput& input);
  bool sample(Active& active, std::span<const float> logits);
  void branch(Active& active, std::span<const float> logits, Token sampled);

  backend::Backend& backend_;
  std::int64_t max_;
  decode::TokenScorer scorer_;
  std::vector<float> others_;  // logits of what was not sampled
};

}  // namespace millrace::draft
