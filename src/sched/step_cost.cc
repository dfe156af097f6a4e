#include "sched/step_cost.h"

#include <algorithm>
#include <cmath>

namespace millrace::sched {

double StepCost::milliseconds(const StepWork& work) const noexcept {
  return fixed_ms + std::max(weights_ms, static_cast<double>(work.tokens) * token_ms) +
         static_cast<double>(work.kv_tokens) * kv_token_ms + static_cast<double>(work.samples) * sample_ms;
}

std::int64_t StepCost::tokens_within(double limit_ms, const StepWork& work, std::int64_t first,
                                     std::int64_t most) const noexcept {
  std::int64_t fits = 0, too_many = most + 1;
  while (too_many - fits > 1) {
    const std::int64_t n = fits + (too_many - fits) / 2;
    StepWork with = work;
    with.add(n, first);
    (milliseconds(with) <= limit_ms ? fits : too_many) = n;
  }
  return std::max<std::int64_t>(fits, 0);
}

namespace {

constexpr double kForgetting = 0.998;     // a step weighs half after 350 more
constexpr double kNoise = 0.05;           // of a step's time, as a share of it
constexpr double kOutlier = 3.0;          // standard deviations, beyond which an error pulls no more than that
constexpr double kFirstVariance = 100.0;  // the first guess may be wrong tenfold
constexpr double kGreatestTime = 1e7;     // milliseconds; what is not below it is no measurement

}  // namespace

StepCostEstimator::StepCostEstimator(const StepCost& start) : cost_(start) {
  scale_ = {start.fixed_ms, start.weights_ms, start.token_ms, start.kv_token_ms, start.sample_ms};
  for (std::size_t i = 0; i < kSize; ++i) {
    scale_[i] = std::max(scale_[i], 1e-9);
    covariance_[i][i] = kFirstVariance;
  }
}

StepCostEstimator::Vector StepCostEstimator::features(const StepWork& work) const noexcept {
  const auto tokens = static_cast<double>(work.tokens);
  const bool memory = cost_.weights_ms >= tokens * cost_.token_ms;
  Vector x = {1.0, memory ? 1.0 : 0.0, memory ? 0.0 : tokens, static_cast<double>(work.kv_tokens),
              static_cast<double>(work.samples)};
  for (std::size_t i = 0; i < kSize; ++i) x[i] *= scale_[i];
  return x;
}

void StepCostEstimator::observe(const StepWork& work, double milliseconds) noexcept {
  if (work.tokens <= 0 || !(milliseconds > 0.0) || !(milliseconds < kGreatestTime)) return;
  ++observations_;
  const double noise = kNoise * milliseconds;
  update(features(work), milliseconds - cost_.milliseconds(work), noise * noise);
}

void StepCostEstimator::update(const Vector& x, double error, double noise) noexcept {
  Vector px{};
  double variance = noise;
  for (std::size_t i = 0; i < kSize; ++i) {
    for (std::size_t j = 0; j < kSize; ++j) px[i] += covariance_[i][j] * x[j];
    variance += x[i] * px[i];
  }
  const double most = kOutlier * std::sqrt(variance);
  error = std::clamp(error, -most, most);
  const std::array<double*, kSize> coefficients = {&cost_.fixed_ms, &cost_.weights_ms, &cost_.token_ms,
                                                   &cost_.kv_token_ms, &cost_.sample_ms};
  for (std::size_t i = 0; i < kSize; ++i) {
    *coefficients[i] = std::max(0.0, *coefficients[i] + scale_[i] * px[i] / variance * error);
    for (std::size_t j = 0; j < kSize; ++j) covariance_[i][j] -= px[i] * px[j] / variance;
  }
  // Forgetting widens only what the step told of, so that what no step tells of does not blow up.
  for (std::size_t i = 0; i < kSize; ++i) {
    for (std::size_t j = 0; j < kSize; ++j) {
      if (x[i] != 0.0 && x[j] != 0.0) covariance_[i][j] /= kForgetting;
    }
  }
  for (std::size_t i = 0; i < kSize; ++i) {
    if (covariance_[i][i] <= kFirstVariance) continue;
    const double shrink = std::sqrt(kFirstVariance / covariance_[i][i]);
    for (std::size_t j = 0; j < kSize; ++j) {
      covariance_[i][j] *= shrink;
      covariance_[j][i] *= shrink;
    }
  }
}

}  // namespace millrace::sched
