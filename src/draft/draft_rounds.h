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

inline constexpr std::int64_t kCatchUpTokens = 256;  // that a call computes at most before it drafts: rows of a pass

// Drafts with a model: a pass over what it has not seen of the sequences, then a pass for each further token, of all
// sequences that go on. Tokens are sampled as the target samples them, with a copy of its pipeline and the same noise
// (Gumbel coupling, arXiv:2408.07978): where the two models agree about the likeliest sum of logit and noise, the draft
// token is right, at any temperature. Branches leave the draft at the places where something else is likeliest: with
// what it would sample there if it could not sample what it did, the next best sum, a token each. They need no pass of
// their own.
class DraftRounds {
 public:
  using Forward = std::function<TensorView(const model::BatchInput&)>;

  // For place.sequences at once, on its backend.
  explicit DraftRounds(const DraftPlace& place) : backend_(*place.backend), max_(sequences(place)) {}
  // Rows with logits of a pass, at most.
  static std::int64_t sequences(const DraftPlace& place) { return std::min(place.sequences, kCatchUpTokens); }

  // `computed[i]`: tokens of tasks[i] whose keys and values the model has; grown by what this call adds, which is all
  // of them unless more than kCatchUpTokens are missing: then there is no draft. With `lag`, the row at a position is
  // of the token so many behind it, and there are as many rows fewer: for heads, which see a state and the token after
  // it. What `forward` throws passes through; then nothing that this call computed counts.
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
