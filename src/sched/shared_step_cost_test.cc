#include "sched/shared_step_cost.h"

#include <gtest/gtest.h>

namespace millrace::sched {
namespace {

const StepCost kOne{.fixed_ms = 0.5, .weights_ms = 20.0, .token_ms = 1.0, .kv_token_ms = 0.01, .sample_ms = 0.2};

TEST(SharedStepCost, IsThatOfOneProcessWhereRanksDivideIt) {
  const StepWork work{.tokens = 30, .kv_tokens = 500, .samples = 3};
  EXPECT_DOUBLE_EQ(shared_step_cost(kOne, {}, {}).milliseconds(work), kOne.milliseconds(work));
}

TEST(SharedStepCost, AddsExchanges) {
  const SharedWork shared{.exchanges = 100.0, .row_bytes = 1e6, .logit_bytes = 2e5};
  const StepCost cost = shared_step_cost(kOne, shared, {.latency_us = 20.0, .gb_per_s = 2.0});
  const StepWork work{.tokens = 4, .samples = 3};
  EXPECT_NEAR(cost.milliseconds(work), kOne.milliseconds(work) + 100 * 0.02 + 4 * 0.5 + 3 * 0.1, 1e-9);
}

TEST(SharedStepCost, TakesItsPartOfTheWork) {
  EXPECT_DOUBLE_EQ(shared_step_cost(kOne, {.part = 0.5}, {}).milliseconds({.tokens = 1}), 10.5);
  const StepWork many{.tokens = 40, .kv_tokens = 100, .samples = 10};
  EXPECT_DOUBLE_EQ(shared_step_cost(kOne, {.part = 0.55}, {}).milliseconds(many), 0.5 + 0.55 * (40.0 + 1.0 + 2.0));
}

}  // namespace
}  // namespace millrace::sched
