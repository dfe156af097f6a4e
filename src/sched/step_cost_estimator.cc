#include "sched/step_cost_estimator.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace millrace::sched {
namespace {

constexpr double kForgetting = 0.97;    // of a bucket: the last thirty or so of its steps
constexpr double kFading = 0.98;        // of all buckets, every kFitEvery steps
constexpr double kTrustInStart = 1e-4;  // weight of each first guess, in steps of 100 % error
constexpr double kOutlier = 3.0;        // a time this many times off counts as this many times off ...
constexpr std::int64_t kSettled = 64;   // ... once as many steps were seen; and then a fit is made
constexpr std::int64_t kFitEvery = 8;   // only after some more
constexpr double kGreatestTime = 1e7;   // milliseconds; beyond it is no measurement
constexpr double kMinTime = 1e-6;

// 1, 2, 3, 4, 6, 8, 12, 16, 24 ...
std::size_t bucket_of(std::int64_t tokens, std::size_t buckets) noexcept {
  const auto n = static_cast<std::uint64_t>(tokens);
  const auto octave = static_cast<std::size_t>(std::bit_width(n) - 1);
  const std::size_t half = octave > 0 ? static_cast<std::size_t>(n >> (octave - 1)) & 1 : 0;
  return std::min(2 * octave + half, buckets - 1);
}

}  // namespace

void StepCostEstimator::observe(const StepWork& work, double milliseconds) noexcept {
  if (work.tokens <= 0 || !(milliseconds >= kMinTime) || !(milliseconds <= kGreatestTime)) return;
  if (++observations_ > kSettled) {
    const double expected = std::max(cost_.milliseconds(work), kMinTime);
    milliseconds = std::clamp(milliseconds, expected / kOutlier, expected * kOutlier);
  }
  Bucket& bucket = buckets_[bucket_of(work.tokens, kBuckets)];
  const std::array<double, kSums> x = {1.0 / milliseconds, static_cast<double>(work.tokens) / milliseconds,
                                       static_cast<double>(work.kv_tokens) / milliseconds,
                                       static_cast<double>(work.samples) / milliseconds,
                                       start_.reads.share(work.tokens) / milliseconds};
  for (std::size_t i = 0; i < kSums; ++i) {
    for (std::size_t j = 0; j < kSums; ++j) bucket.xx[i][j] = bucket.xx[i][j] * kForgetting + x[i] * x[j];
    bucket.xy[i] = bucket.xy[i] * kForgetting + x[i];
  }
  bucket.yy = bucket.yy * kForgetting + 1.0;
  if (observations_ % kFitEvery == 0) fade();
  if (observations_ <= kSettled || observations_ % kFitEvery == 0) refit();
}

// The machine may have changed since, but a bucket that is no longer told of keeps the weight of one step.
void StepCostEstimator::fade() noexcept {
  for (Bucket& bucket : buckets_) {
    if (bucket.yy <= 1.0) continue;
    for (auto& row : bucket.xx) {
      for (double& sum : row) sum *= kFading;
    }
    for (double& sum : bucket.xy) sum *= kFading;
    bucket.yy *= kFading;
  }
}

void StepCostEstimator::refit() noexcept {
  Fit best = fit(0);
  for (std::size_t first = 1; first <= kBuckets; ++first) {
    if (buckets_[first - 1].yy == 0.0) continue;  // the same as the one before
    const Fit other = fit(first);
    if (other.error < best.error) best = other;
  }
  cost_ = {.fixed_ms = best.unknowns[0],
           .weights_ms = best.unknowns[1],
           .token_ms = best.unknowns[2],
           .kv_token_ms = best.unknowns[3],
           .sample_ms = best.unknowns[4],
           .reads = start_.reads};
}

namespace {

// Solves the symmetric positive definite system of those unknowns that are free by Gaussian elimination; the others
// are 0.
template <std::size_t N>
std::array<double, N> solve(std::array<std::array<double, N>, N> a, std::array<double, N> b,
                            const std::array<bool, N>& is_free) noexcept {
  for (std::size_t i = 0; i < N; ++i) {
    if (is_free[i]) continue;
    for (std::size_t j = 0; j < N; ++j) a[i][j] = a[j][i] = 0.0;
    a[i][i] = 1.0;
    b[i] = 0.0;
  }
  for (std::size_t k = 0; k < N; ++k) {
    for (std::size_t i = k + 1; i < N; ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < N; ++j) a[i][j] -= factor * a[k][j];
      b[i] -= factor * b[k];
    }
  }
  std::array<double, N> x{};
  for (std::size_t k = N; k-- > 0;) {
    double sum = b[k];
    for (std::size_t j = k + 1; j < N; ++j) sum -= a[k][j] * x[j];
    x[k] = sum / a[k][k];
  }
  return x;
}

}  // namespace

// With the steps of the buckets from `first_of_arithmetic` on bound by arithmetic and those before by memory. Unknowns
// are in units of the first guess.
StepCostEstimator::Fit StepCostEstimator::fit(std::size_t first_of_arithmetic) const noexcept {
  Matrix a{};
  Vector b{};
  double yy = 0.0;
  // Which sum belongs to which unknown, on either side.
  using Pairs = std::array<std::pair<std::size_t, std::size_t>, 4>;
  constexpr Pairs kMemory = {{{0, 0}, {1, 4}, {3, 2}, {4, 3}}}, kArithmetic = {{{0, 0}, {2, 1}, {3, 2}, {4, 3}}};
  for (std::size_t i = 0; i < kBuckets; ++i) {
    const Bucket& bucket = buckets_[i];
    if (bucket.yy == 0.0) continue;
    const Pairs& pairs = i < first_of_arithmetic ? kMemory : kArithmetic;
    for (const auto& [unknown, sum] : pairs) {
      for (const auto& [other, other_sum] : pairs) a[unknown][other] += bucket.xx[sum][other_sum];
      b[unknown] += bucket.xy[sum];
    }
    yy += bucket.yy;
  }
  Vector scale = {start_.fixed_ms, start_.weights_ms, start_.token_ms, start_.kv_token_ms, start_.sample_ms};
  for (double& one : scale) one = std::max(one, 1e-9);
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    for (std::size_t j = 0; j < kUnknowns; ++j) a[i][j] *= scale[i] * scale[j];
    b[i] = b[i] * scale[i] + kTrustInStart;
    a[i][i] += kTrustInStart;
  }
  std::array<bool, kUnknowns> is_free;
  is_free.fill(true);
  Fit result;
  for (std::size_t round = 0; round <= kUnknowns; ++round) {
    result.unknowns = solve(a, b, is_free);
    const auto least = std::min_element(result.unknowns.begin(), result.unknowns.end());
    if (*least >= 0.0) break;
    is_free[static_cast<std::size_t>(least - result.unknowns.begin())] = false;
  }
  result.error = yy;
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    result.error -= 2.0 * b[i] * result.unknowns[i];
    for (std::size_t j = 0; j < kUnknowns; ++j) result.error += a[i][j] * result.unknowns[i] * result.unknowns[j];
  }
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    result.unknowns[i] = std::isfinite(result.unknowns[i]) ? result.unknowns[i] * scale[i] : scale[i];
  }
  return result;
}

}  // namespace millrace::sched
