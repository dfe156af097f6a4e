// SparseMixer (arXiv:2310.00811) without noise, of Phi-3.5-MoE: the expert of the highest logit, then that of the
// highest left, each weighed by a softmax over the experts whose logits come near it: within 2 * jitter of what is the
// greater of the highest and their own magnitude.
#include "backend/router_math.h"

namespace millrace::backend::routers {
namespace {

void choose_by_mixer(const Routing& routing, const float* logits, const float*, Choice* out) noexcept {
  ExpertValues left;
  std::copy_n(logits, routing.experts, left);
  for (std::int64_t j = 0; j < routing.chosen; ++j) {
    choose_highest(left, routing.experts, 1, out + j);
    const float highest = out[j].weight;
    float sum = 0.0f;
    for (std::int64_t e = 0; e < routing.experts; ++e) {
      if (left[e] == kNeverChosen) continue;
      const float measure = std::max(std::fabs(logits[e]), highest);
      if (!((highest - logits[e]) / measure > 2.0f * routing.jitter)) sum += router_exp(left[e] - highest);
    }
    out[j].weight = 1.0f / sum * routing.scale;
    left[out[j].expert] = kNeverChosen;
  }
}

}  // namespace

Router sparsemixer() { return {.name = "sparsemixer", .choose = choose_by_mixer}; }

}  // namespace millrace::backend::routers
