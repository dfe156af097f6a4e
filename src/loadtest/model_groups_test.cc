#include "loadtest/model_groups.h"

#include <gtest/gtest.h>

namespace millrace::loadtest {
namespace {

RequestRecord answered(const std::string& model, double ttft, double waited_ms) {
  RequestRecord record;
  record.model = model;
  record.due = record.sent = 1.0;
  record.events = {1.0 + ttft, 1.0 + ttft + 0.1};
  record.ended = record.events.back();
  record.outcome = Outcome::kWhole;
  record.status = 200;
  record.server.causes = {{"prefill", 1.0}};
  if (waited_ms > 0.0) record.server.causes.push_back({"adapter", waited_ms});
  return record;
}

TEST(ModelGroups, AreThoseThatTheWorkloadChose) {
  LoadRun run;
  EXPECT_TRUE(model_groups(run).empty());
  run.records = {answered("", 0.5, 0.0), answered("", 0.7, 0.0)};
  EXPECT_TRUE(model_groups(run).empty()) << "it chose none";
  run.records.push_back(answered("b", 0.2, 30.0));
  for (const double ttft : {0.1, 0.3, 0.2})
    run.records.push_back(answered("a", ttft, ttft > 0.15 ? 100.0 * ttft : 0.0));
  RequestRecord failed = answered("b", 0.0, 0.0);
  failed.outcome = Outcome::kRejected;
  RequestRecord warmup = answered("c", 0.1, 0.0);
  warmup.warmup = true;
  run.records.insert(run.records.end(), {failed, warmup});
  const auto groups = model_groups(run);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].model, "a");
  EXPECT_EQ(groups[0].completed, 3);
  EXPECT_EQ(groups[0].output_tokens, 6);
  EXPECT_NEAR(groups[0].ttft_ms.p50, 200.0, 1e-6);
  EXPECT_NEAR(groups[0].tpot_ms.p50, 100.0, 1e-6);
  EXPECT_EQ(groups[0].waited, 2);
  EXPECT_NEAR(groups[0].wait_ms, 25.0, 1e-6);
  EXPECT_EQ(groups[1].model, "");
  EXPECT_EQ(groups[2].failed, 1);
  EXPECT_EQ(groups[2].completed, 1);
  EXPECT_EQ(groups[2].waited, 1);
}

}  // namespace
}  // namespace millrace::loadtest
