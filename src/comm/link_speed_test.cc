#include "comm/link_speed.h"

#include <gtest/gtest.h>

#include "base/cpu_quota.h"
#include "comm/testing/rank_threads.h"

namespace millrace::comm {
namespace {

TEST(LinkSpeed, IsMeasuredByAllRanksOfAStage) {
  run_ranks({.stage_ranks = 2, .memory = kLinkSpeedMemory}, [](std::shared_ptr<Communicator> group) {
    const LinkSpeed speed = measure_link_speed(*group).or_throw();
    EXPECT_GT(speed.latency_us, 0.0);
    EXPECT_GT(speed.gb_per_s, 0.0);
    EXPECT_GT(speed.exchange_8k_us, 0.0);
  });
}

TEST(LinkSpeed, IsMeasuredBetweenProcesses) {
  auto speed = measure_shm_link_speed();
  if (usable_threads() < 2) {
    ASSERT_FALSE(speed);
    EXPECT_EQ(speed.error().code, ErrorCode::kUnsupported);
    return;
  }
  EXPECT_GT(speed->latency_us, 0.0);
  EXPECT_LT(speed->latency_us, 1e6);
}

}  // namespace
}  // namespace millrace::comm
