// The most probable experts of a softmax, as in Mixtral (arXiv:2401.04088); their probabilities are the weights,
// divided by their sum if `normalised`. With groups, those of the most probable experts (arXiv:2405.04434, 2.1.2).
#include "backend/router_math.h"

namespace millrace::backend::routers {
namespace {

void choose_probable(const Routing& routing, const float* logits, const float* bias, Choice* out) noexcept {
  ExpertValues p, scores;
  softmax(logits, routing.experts, p);
  for (std::int64_t e = 0; e < routing.experts; ++e) scores[e] = p[e] + (bias == nullptr ? 0.0f : bias[e]);
  keep_best_groups(routing, scores, [](const float* x, std::int64_t n) { return *std::max_element(x, x + n); });
  choose_highest(scores, routing.experts, routing.chosen, out);
  weigh_by(routing, p, out);
  scale_weights(routing, routing.normalised ? std::max(sum_of_weights(routing, out), routing.floor) : 1.0f, out);
}

}  // namespace

Router softmax() { return {.name = "softmax", .choose = choose_probable}; }

}  // namespace millrace::backend::routers
