#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sched/step_cost.h"

namespace millrace::sched {

// Estimates a StepCost from the steps that ran, by weighted least squares of relative errors with coefficients >= 0;
// old steps fade. `start` also says which part of the weights a step reads. Steps are summed up in buckets of half an
// octave by their number of tokens. Each bucket fades by its own count of steps, so the estimate keeps sizes that have
// not occurred for long. The bucket from which on arithmetic takes longer than reading the weights is found by trying
// all. Deterministic; allocates nothing. Engine thread only.
class StepCostEstimator {
 public:
  explicit StepCostEstimator(const StepCost& start = {}) : start_(start), cost_(start) {}
  void observe(const StepWork& work, double milliseconds) noexcept;
  const StepCost& cost() const noexcept { return cost_; }
  std::int64_t observations() const noexcept { return observations_; }

 private:
  static constexpr std::size_t kBuckets = 24;
  static constexpr std::size_t kUnknowns = 5;  // fixed, weights, token, kv token, sample
  static constexpr std::size_t kSums = 5;      // 1, tokens, kv tokens, samples, share of the weights

  using Vector = std::array<double, kUnknowns>;
  using Matrix = std::array<Vector, kUnknowns>;
  // Sums of products over the steps of a bucket, each step divided by its time.
  struct Bucket {
    std::array<std::array<double, kSums>, kSums> xx{};
    std::array<double, kSums> xy{};
    double yy = 0.0;
  };
  struct Fit {
    Vector unknowns{};
    double error = 0.0;
  };

  void fade() noexcept;
  void refit() noexcept;
  Fit fit(std::size_t first_of_arithmetic) const noexcept;

  StepCost start_, cost_;
  std::array<Bucket, kBuckets> buckets_{};
  std::int64_t observations_ = 0;
};

}  // namespace millrace::sched
