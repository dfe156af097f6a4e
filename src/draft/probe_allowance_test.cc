#include "draft/probe_allowance.h"

#include <gtest/gtest.h>

namespace millrace::draft {
namespace {

int probes(double step_ms, double probe_ms, int steps) {
  ProbeAllowance allowance;
  int count = 0;
  for (int i = 0; i < steps; ++i) {
    allowance.add_step(step_ms, probe_ms);
    if (!allowance.covers(probe_ms)) continue;
    allowance.spend(probe_ms);
    ++count;
  }
  return count;
}

TEST(ProbeAllowance, IsAHundredthOfTheTimeOfSteps) {
  EXPECT_EQ(probes(1.0, 0.5, 1000), 20);
  EXPECT_EQ(probes(1.0, 2.0, 1000), 5);
  EXPECT_EQ(probes(4.0, 2.0, 1000), 20);
}

TEST(ProbeAllowance, CoversWhatCostsNothing) { EXPECT_EQ(probes(1.0, 0.0, 10), 10); }

TEST(ProbeAllowance, SavesForOneTimeOfAsking) {
  ProbeAllowance allowance;
  for (int i = 0; i < 100'000; ++i) allowance.add_step(1.0, 2.0);
  EXPECT_TRUE(allowance.covers(2.0));
  allowance.spend(2.0);
  EXPECT_FALSE(allowance.covers(2.0));
}

TEST(ProbeAllowance, IsEmptyAtFirst) { EXPECT_FALSE(ProbeAllowance().covers(0.1)); }

}  // namespace
}  // namespace millrace::draft
