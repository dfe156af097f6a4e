#include "sched/step_cost_estimator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace millrace::sched {
namespace {

constexpr StepCost kTruth{.fixed_ms = 0.4, .weights_ms = 6.0, .token_ms = 0.25, .kv_token_ms = 1e-3, .sample_ms = 0.08};

// A mixture as an engine has it: steps of decoding sequences, with and without a chunk of a prompt.
StepWork random_work(std::mt19937& random) {
  StepWork work;
  for (unsigned i = random() % 33; i > 0; --i) {
    work.add(1, static_cast<std::int64_t>(random() % 1000));
    ++work.samples;
  }
  if (work.tokens == 0 || random() % 3 == 0) work.add(16 + static_cast<std::int64_t>(random() % 240), 0);
  return work;
}

double noise(std::mt19937& random) { return 0.97 + 0.06 * static_cast<double>(random() % 1000) / 1000.0; }

double mean_error(const StepCost& cost, const StepCost& truth) {
  std::mt19937 random(99);
  double error = 0.0;
  for (int i = 0; i < 1000; ++i) {
    const StepWork work = random_work(random);
    error += std::abs(cost.milliseconds(work) / truth.milliseconds(work) - 1.0);
  }
  return error / 1000.0;
}

TEST(StepCostEstimator, FindsTheCoefficientsOfNoisySteps) {
  StepCostEstimator estimator;
  std::mt19937 random(4);
  for (int i = 0; i < 3000; ++i) {
    const StepWork work = random_work(random);
    estimator.observe(work, kTruth.milliseconds(work) * noise(random));
  }
  EXPECT_LT(mean_error(estimator.cost(), kTruth), 0.02);
  EXPECT_NEAR(estimator.cost().token_ms / kTruth.token_ms, 1.0, 0.05);
  EXPECT_NEAR(estimator.cost().kv_token_ms / kTruth.kv_token_ms, 1.0, 0.1);
  EXPECT_NEAR((estimator.cost().weights_ms + estimator.cost().fixed_ms) / 6.4, 1.0, 0.05);
  EXPECT_EQ(estimator.observations(), 3000);
}

// Few tokens take less than weights_ms, by what they leave out: without that knowledge no fit comes near.
TEST(StepCostEstimator, FindsTheCostOfExperts) {
  StepCost truth = kTruth;
  truth.reads = {.experts = 0.9, .left_out = 0.75};
  StepCostEstimator knows({.reads = truth.reads}), ignorant;
  std::mt19937 random(4);
  for (int i = 0; i < 3000; ++i) {
    const StepWork work = random_work(random);
    const double ms = truth.milliseconds(work) * noise(random);
    knows.observe(work, ms);
    ignorant.observe(work, ms);
  }
  EXPECT_LT(mean_error(knows.cost(), truth), 0.02);
  EXPECT_GT(mean_error(ignorant.cost(), truth), 2.0 * mean_error(knows.cost(), truth));
  EXPECT_NEAR(knows.cost().milliseconds({.tokens = 1}) / truth.milliseconds({.tokens = 1}), 1.0, 0.1);
}

TEST(StepCostEstimator, IsNearAfterFewStepsWhereverItBegan) {
  for (const double factor : {0.1, 1.0, 10.0}) {
    StepCostEstimator estimator({.fixed_ms = 0.1 * factor, .weights_ms = 2.0 * factor, .token_ms = 0.5 * factor});
    std::mt19937 random(5);
    for (int i = 0; i < 60; ++i) {
      const StepWork work = random_work(random);
      estimator.observe(work, kTruth.milliseconds(work) * noise(random));
    }
    EXPECT_LT(mean_error(estimator.cost(), kTruth), 0.15) << factor;
  }
}

TEST(StepCostEstimator, IsNotMovedFarByOutliers) {
  StepCostEstimator estimator;
  std::mt19937 random(6);
  for (int i = 0; i < 3000; ++i) {
    const StepWork work = random_work(random);
    estimator.observe(work, kTruth.milliseconds(work) * noise(random) * (i % 50 == 7 ? 20.0 : 1.0));
  }
  EXPECT_LT(mean_error(estimator.cost(), kTruth), 0.08);
}

TEST(StepCostEstimator, FollowsAMachineThatChanges) {
  StepCostEstimator estimator;
  std::mt19937 random(7);
  StepCost slow = kTruth;
  slow.weights_ms *= 2.0;
  slow.token_ms *= 2.0;
  for (int i = 0; i < 4000; ++i) {
    const StepWork work = random_work(random);
    estimator.observe(work, (i < 2000 ? kTruth : slow).milliseconds(work) * noise(random));
  }
  EXPECT_LT(mean_error(estimator.cost(), slow), 0.05);
}

TEST(StepCostEstimator, StaysFiniteAndPositiveWhateverItIsTold) {
  StepCostEstimator estimator;
  std::mt19937 random(8);
  for (int i = 0; i < 20000; ++i) {
    const double values[] = {0.0, -1.0, 1e-9, 1e300, NAN, INFINITY, static_cast<double>(random() % 1000)};
    StepWork work = random_work(random);
    if (i % 2 == 0) work = {.tokens = 1, .kv_tokens = 5, .samples = 1};  // nothing else for long
    estimator.observe(work, values[random() % 7]);
    const StepCost& cost = estimator.cost();
    for (const double value : {cost.fixed_ms, cost.weights_ms, cost.token_ms, cost.kv_token_ms, cost.sample_ms}) {
      ASSERT_TRUE(std::isfinite(value) && value >= 0.0);
    }
  }
}

}  // namespace
}  // namespace millrace::sched
