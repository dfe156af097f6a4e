#include "engine/utilization.h"

#include <gtest/gtest.h>

namespace millrace::engine {
namespace {

constexpr TimeSpent kSpent{.queue_ms = 1000.0,
                           .prefill_ms = 100.0,
                           .prefill_shared_ms = 60.0,
                           .stalled_ms = 500.0,
                           .decode_ms = 100.0,
                           .decode_batch_ms = 60.0,
                           .decode_prefill_ms = 40.0,
                           .preempted_ms = 500.0,
                           .recompute_ms = 40.0,
                           .decode_read_bytes = 2e9,
                           .prefill_operations = 4e9};

TEST(Utilization, IsWorkOverTheTimeOfItsStepsAndThePeak) {
  const Utilization use = utilization(kSpent, {.read_gb_s = 40.0, .gop_s = 100.0});
  EXPECT_DOUBLE_EQ(*use.read_gb_s, 10.0);
  EXPECT_DOUBLE_EQ(*use.mbu, 0.25);
  EXPECT_DOUBLE_EQ(*use.prefill_mfu, 0.2);
}

TEST(Utilization, IsNothingWhereTheWorkExceedsThePeak) {
  const Utilization use = utilization(kSpent, {.read_gb_s = 9.0, .gop_s = 19.0});
  EXPECT_DOUBLE_EQ(*use.read_gb_s, 10.0);
  EXPECT_FALSE(use.mbu || use.prefill_mfu);
}

TEST(Utilization, PeaksOnlyRise) {
  LivePeaks peaks({.read_gb_s = 10.0, .gop_s = 50.0});
  peaks.measured({.read_gb_s = 20.0, .gop_s = 0.0});
  EXPECT_EQ(peaks.now().read_gb_s, 20.0);
  EXPECT_EQ(peaks.now().gop_s, 50.0);
}

TEST(Utilization, IsNothingWhereNothingIsKnown) {
  const Utilization unmeasured = utilization(kSpent, {});
  EXPECT_DOUBLE_EQ(*unmeasured.read_gb_s, 10.0);
  EXPECT_FALSE(unmeasured.mbu || unmeasured.prefill_mfu);
  const Utilization idle = utilization({}, {.read_gb_s = 40.0, .gop_s = 100.0});
  EXPECT_FALSE(idle.read_gb_s || idle.mbu || idle.prefill_mfu);
}

}  // namespace
}  // namespace millrace::engine
