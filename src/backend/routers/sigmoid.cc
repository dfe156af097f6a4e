// Each expert's sigmoid by itself, with a bias for the choice alone that balances experts without a loss
// (arXiv:2412.19437, 2.1.2). A group's score is the sum of its two best experts'. Weights are divided by their sum plus
// `floor`, if `normalised`.
#include "backend/router_math.h"

namespace millrace::backend::routers {
namespace {

float two_best(const float* x, std::int64_t n) noexcept {
  Choice best[2] = {};
  choose_highest(x, n, std::min<std::int64_t>(n, 2), best);
  return best[0].weight + best[1].weight;
}

void choose_by_sigmoid(const Routing& routing, const float* logits, const float* bias, Choice* out) noexcept {
  ExpertValues weights, scores;
  for (std::int64_t e = 0; e < routing.experts; ++e) {
    weights[e] = router_sigmoid(logits[e]);
    scores[e] = weights[e] + (bias == nullptr ? 0.0f : bias[e]);
  }
  keep_best_groups(routing, scores, two_best);
  choose_highest(scores, routing.experts, routing.chosen, out);
  weigh_by(routing, weights, out);
  scale_weights(routing, routing.normalised ? sum_of_weights(routing, out) + routing.floor : 1.0f, out);
}

}  // namespace

Router sigmoid() { return {.name = "sigmoid", .choose = choose_by_sigmoid}; }

}  // namespace millrace::backend::routers
