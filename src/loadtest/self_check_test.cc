#include "loadtest/self_check.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace millrace::loadtest {
namespace {

const CheckedMetric& figure(const SelfCheck& check, std::string_view name) {
  return *std::ranges::find(check.compared, name, &CheckedMetric::name);
}

TEST(SelfCheck, ScriptsAreFixedBySeedAndStream) {
  const Pace pace{.streams = 3, .events = 50, .first_s = 0.5, .gap_s = 0.1, .jitter = 0.4, .seed = 9};
  const auto script = script_of(pace, 1);
  ASSERT_EQ(script.size(), 50u);
  EXPECT_GE(script[0], 0.3);
  EXPECT_LE(script[0], 0.7);
  for (std::size_t i = 1; i < script.size(); ++i) {
    EXPECT_GE(script[i] - script[i - 1], 0.06 - 1e-9);
    EXPECT_LE(script[i] - script[i - 1], 0.14 + 1e-9);
  }
  EXPECT_EQ(script, script_of(pace, 1));
  EXPECT_NE(script, script_of(pace, 2));
  EXPECT_EQ(script_of({.events = 2, .first_s = 1.0, .gap_s = 0.5}, 0), (std::vector<double>{1.0, 1.5}));
}

TEST(SelfCheck, ComparesTheClientWithTheServerAndBothWithTheScript) {
  LoadRun run;
  run.seconds = 2.0;
  run.client_cpu_s = 0.5;
  run.records.resize(1);
  run.records[0] = {.due = 1.0, .sent = 1.001, .events = {1.52, 1.61, 1.72}, .outcome = Outcome::kWhole};
  const std::vector<PacedStream> truth = {
      {.due = 1.0, .arrived = 1.002, .scripted = {0.49, 0.59, 0.69}, .written = {1.5, 1.6, 1.7}}};
  const SelfCheck check = check_against(run, truth);
  EXPECT_EQ(check.whole, 1);
  EXPECT_EQ(check.events, 3);
  EXPECT_NEAR(figure(check, "mean TTFT").scripted, 490.0, 1e-6);
  EXPECT_NEAR(figure(check, "mean TTFT").server, 500.0, 1e-6);
  EXPECT_NEAR(figure(check, "mean TTFT").client, 520.0, 1e-6);
  EXPECT_NEAR(figure(check, "mean TTFT").error_percent(), 4.0, 1e-6);
  EXPECT_NEAR(figure(check, "mean TPOT").error_percent(), 0.0, 1e-6);
  EXPECT_NEAR(figure(check, "p99 ITL").client, 109.8, 1e-6);
  EXPECT_NEAR(figure(check, "output throughput").server, 3 / 0.7, 1e-6);
  EXPECT_NEAR(figure(check, "output throughput").client, 3 / 0.72, 1e-6);
  EXPECT_EQ(figure(check, "output tokens").client, 3.0);
  EXPECT_NEAR(check.worst_percent, 100.0 * (109.8 / 100.0 - 1.0), 1e-6);
  EXPECT_NEAR(check.send_lag_ms.max, 1.0, 1e-6);
  EXPECT_NEAR(check.client_delay_ms.max, 20.0, 1e-6);
  EXPECT_NEAR(check.server_late_ms.max, 8.0, 1e-6);
  EXPECT_EQ(check.client_cpu_share, 0.25);
  EXPECT_FALSE(check.client_is_full());
}

TEST(SelfCheck, SaysWhereTheClientWasTheBottleneck) {
  SelfCheck check;
  EXPECT_FALSE(check.client_is_full());
  EXPECT_FALSE(check.sends_are_late());
  check.client_cpu_share = 0.95;
  check.send_lag_ms.p99 = 6.0;
  EXPECT_TRUE(check.client_is_full());
  EXPECT_TRUE(check.sends_are_late());
}

TEST(SelfCheck, NotesWhatItsServerDid) {
  const Pace pace{.streams = 20, .events = 10, .first_s = 0.01, .gap_s = 0.002, .jitter = 0.5, .seed = 1};
  const SelfCheck check = self_check(pace, 0.02);
  EXPECT_EQ(check.streams, 20);
  EXPECT_EQ(check.whole, 20);
  EXPECT_EQ(check.events, 200);
  EXPECT_EQ(figure(check, "output tokens").server, 200.0);
  EXPECT_GE(check.server_late_ms.p50, 0.0);   // nothing is written before it is due
  EXPECT_GE(check.client_delay_ms.p50, 0.0);  // nor read before it is written
}

}  // namespace
}  // namespace millrace::loadtest
