// The experts of the highest logits, each with its sigmoid as weight (Llama 4, which multiplies inputs with it).
#include "backend/router_math.h"

namespace millrace::backend::routers {
namespace {

void choose_then_sigmoid(const Routing& routing, const float* logits, const float* bias, Choice* out) noexcept {
  ExpertValues scores;
  for (std::int64_t e = 0; e < routing.experts; ++e) scores[e] = logits[e] + (bias == nullptr ? 0.0f : bias[e]);
  choose_highest(scores, routing.experts, routing.chosen, out);
  for (std::int64_t j = 0; j < routing.chosen; ++j) out[j].weight = router_sigmoid(logits[out[j].expert]);
  scale_weights(routing, routing.normalised ? sum_of_weights(routing, out) + routing.floor : 1.0f, out);
}

}  // namespace

Router sigmoid_of_chosen() { return {.name = "sigmoid_of_chosen", .choose = choose_then_sigmoid}; }

}  // namespace millrace::backend::routers
