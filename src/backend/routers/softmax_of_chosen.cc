// The experts of the highest logits, with the softmax over those alone as weights (gpt-oss, Granite).
#include "backend/router_math.h"

namespace millrace::backend::routers {
namespace {

void choose_then_weigh(const Routing& routing, const float* logits, const float* bias, Choice* out) noexcept {
  ExpertValues scores, p;
  for (std::int64_t e = 0; e < routing.experts; ++e) scores[e] = logits[e] + (bias == nullptr ? 0.0f : bias[e]);
  choose_highest(scores, routing.experts, routing.chosen, out);
  for (std::int64_t j = 0; j < routing.chosen; ++j) scores[j] = logits[out[j].expert];
  softmax(scores, routing.chosen, p);
  for (std::int64_t j = 0; j < routing.chosen; ++j) out[j].weight = p[j] * routing.scale;
}

}  // namespace

Router softmax_of_chosen() { return {.name = "softmax_of_chosen", .choose = choose_then_weigh}; }

}  // namespace millrace::backend::routers
