#include "sched/step_cost.h"

#include <gtest/gtest.h>

namespace millrace::sched {
namespace {

TEST(StepCost, GivesAsManyTokensAsFitInTheTime) {
  const StepCost cost{.fixed_ms = 1.0, .weights_ms = 4.0, .token_ms = 1.0, .kv_token_ms = 0.0, .sample_ms = 0.5};
  EXPECT_EQ(cost.tokens_within(20.0, {.tokens = 3, .kv_tokens = 0, .samples = 2}, 0, 512), 15);
  EXPECT_EQ(cost.tokens_within(20.0, {.tokens = 3, .kv_tokens = 0, .samples = 2}, 0, 7), 7);
  EXPECT_EQ(cost.tokens_within(4.0, {}, 0, 512), 0);
  StepCost looks_back = cost;
  looks_back.kv_token_ms = 0.01;
  EXPECT_LT(looks_back.tokens_within(20.0, {}, 500, 512), looks_back.tokens_within(20.0, {}, 0, 512));
}

TEST(StepCost, ReadsTheExpertsThatTheTokensChoose) {
  const StepCost cost{.fixed_ms = 0.0,
                      .weights_ms = 10.0,
                      .token_ms = 0.1,
                      .sample_ms = 0.0,
                      .reads = {.experts = 0.8, .left_out = 0.75}};
  EXPECT_DOUBLE_EQ(cost.milliseconds({.tokens = 1}), 2.0 + 8.0 * 0.25);
  EXPECT_DOUBLE_EQ(cost.milliseconds({.tokens = 2}), 2.0 + 8.0 * (1.0 - 0.75 * 0.75));
  EXPECT_NEAR(cost.milliseconds({.tokens = 60}), 10.0, 1e-6);
  EXPECT_DOUBLE_EQ(cost.milliseconds({.tokens = 200}), 20.0);
  EXPECT_EQ(cost.tokens_within(7.0, {}, 0, 512), 3);  // 2 + 8 * (1 - 0.75^3) = 6.625
}

}  // namespace
}  // namespace millrace::sched
