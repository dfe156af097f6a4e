#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "backend/router.h"

// What routers have in common. Functions of IEEE operations and fma alone, so that every machine has the same bits.

namespace millrace::backend {

inline constexpr float kNeverChosen = -std::numeric_limits<float>::infinity();

// e^x for x <= 88, relative error below 1e-6; 0 below -87.
inline float router_exp(float x) noexcept {
  if (x < -87.0f) return 0.0f;
  const float n = std::nearbyint(x * 1.44269504f);
  const float f = std::fma(-n, 1.42860677e-6f, std::fma(-n, 0.693145752f, x));  // x - n ln 2
  float p = 1.98412698e-4f;
  p = std::fma(p, f, 1.38888889e-3f);
  p = std::fma(p, f, 8.33333333e-3f);
  p = std::fma(p, f, 4.16666667e-2f);
  p = std::fma(p, f, 1.66666667e-1f);
  p = std::fma(p, f, 0.5f);
  p = std::fma(p, f, 1.0f);
  p = std::fma(p, f, 1.0f);
  return std::ldexp(p, static_cast<int>(n));
}

inline float router_sigmoid(float x) noexcept { return 1.0f / (1.0f + router_exp(std::min(-x, 88.0f))); }

// Room for one value of each expert, on the stack.
using ExpertValues = float[kMaxExperts];

inline void softmax(const float* x, std::int64_t n, float* out) noexcept {
  const float most = *std::max_element(x, x + n);
  float sum = 0.0f;
  for (std::int64_t i = 0; i < n; ++i) sum += out[i] = router_exp(x[i] - most);
  for (std::int64_t i = 0; i < n; ++i) out[i] /= sum;
}

// Writes the k experts of the highest scores, the highest first, with their scores as weights. No score is NaN.
inline void choose_highest(const float* scores, std::int64_t n, std::int64_t k, Choice* out) noexcept {
  std::int64_t found = 0;
  for (std::int64_t e = 0; e < n; ++e) {
    if (found == k && !(scores[e] > out[k - 1].weight)) continue;
    std::int64_t at = found < k ? found++ : k - 1;
    for (; at > 0 && scores[e] > out[at - 1].weight; --at) out[at] = out[at - 1];
    out[at] = {static_cast<std::int32_t>(e), scores[e]};
  }
}

// Leaves the scores of the best groups alone and sets the others to kNeverChosen. score(first) is a group's, whose
// experts begin at `first`.
template <typename GroupScore>
void keep_best_groups(const Routing& routing, float* scores, const GroupScore& score) noexcept {
  if (routing.chosen_groups >= routing.groups) return;
  ExpertValues of_group;
  Choice best[kMaxExperts];
  const std::int64_t size = routing.experts / routing.groups;
  for (std::int64_t g = 0; g < routing.groups; ++g) of_group[g] = score(scores + g * size, size);
  choose_highest(of_group, routing.groups, routing.chosen_groups, best);
  for (std::int64_t g = 0; g < routing.groups; ++g) {
    const auto is_g = [&](const Choice& choice) { return choice.expert == g; };
    if (std::any_of(best, best + routing.chosen_groups, is_g)) continue;
    std::fill_n(scores + g * size, size, kNeverChosen);
  }
}

inline float sum_of_weights(const Routing& routing, const Choice* chosen) noexcept {
  float sum = 0.0f;
  for (std::int64_t j = 0; j < routing.chosen; ++j) sum += chosen[j].weight;
  return sum;
}

// weight = factor * values[expert]
inline void weigh_by(const Routing& routing, const float* values, Choice* chosen) noexcept {
  for (std::int64_t j = 0; j < routing.chosen; ++j) chosen[j].weight = values[chosen[j].expert];
}
inline void scale_weights(const Routing& routing, float divisor, Choice* chosen) noexcept {
  for (std::int64_t j = 0; j < routing.chosen; ++j) chosen[j].weight = chosen[j].weight / divisor * routing.scale;
}

}  // namespace millrace::backend
