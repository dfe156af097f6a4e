#include "decode/rejection_sampling.h"

#include <algorithm>

#include "base/counter_rng.h"
#include "decode/sampling_seed.h"

namespace millrace::decode {
namespace {

double probability_of(std::span<const TokenProbability> distribution, std::int32_t token) {
  const auto it = std::ranges::lower_bound(distribution, token, {}, &TokenProbability::token);
  return it != distribution.end() && it->token == token ? it->probability : 0.0;
}

// Calls take(token, max(p - q, 0)) for the tokens of p, ascending, while it returns true.
template <typename Take>
void for_residual(std::span<const TokenProbability> p, std::span<const TokenProbability> q, Take take) {
  auto next = q.begin();
  for (const TokenProbability& one : p) {
    while (next != q.end() && next->token < one.token) ++next;
    const double drafted = next != q.end() && next->token == one.token ? next->probability : 0.0;
    if (!take(one.token, std::max(one.probability - drafted, 0.0))) return;
  }
}

// By inverting the cumulated distribution. Where nothing is left but rounding, the likeliest of p.
std::int32_t sample_residual(std::span<const TokenProbability> p, std::span<const TokenProbability> q, double uniform) {
  double total = 0.0, sum = 0.0;
  for_residual(p, q, [&](std::int32_t, double mass) {
    total += mass;
    return true;
  });
  std::int32_t sampled = std::ranges::max_element(p, {}, &TokenProbability::probability)->token;
  for_residual(p, q, [&](std::int32_t token, double mass) {
    sum += mass;
    if (mass > 0.0) sampled = token;
    return mass <= 0.0 || sum <= uniform * total;
  });
  return sampled;
}

}  // namespace

Result<Verdict> accept_or_resample(LogitsPipeline& target, std::span<const float> logits, std::int64_t position,
                                   const std::optional<DraftedToken>& drafted) {
  if (!drafted) {
    const auto token = target.sample(logits, position);
    if (!token) return token.error();
    return Verdict{*token, false};
  }
  const auto target_distribution = target.distribution(logits, position);
  if (!target_distribution) return target_distribution.error();
  const std::span<const TokenProbability> p = *target_distribution;
  const TokenProbability point{drafted->token, 1.0};
  const std::span<const TokenProbability> q =
      drafted->distribution.empty() ? std::span(&point, 1) : drafted->distribution;

  const auto noise = [&](Purpose purpose) {
    return rng::uniform(seed_for(purpose, target.params().seed), static_cast<std::uint64_t>(position), 0);
  };
  if (noise(Purpose::kAccept) * probability_of(q, drafted->token) < probability_of(p, drafted->token)) {
    return Verdict{drafted->token, true};
  }
  return Verdict{sample_residual(p, q, noise(Purpose::kResidual)), false};
}

}  // namespace millrace::decode
