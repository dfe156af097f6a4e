// Several steps on their way at once: which rows each of them has.

#include <gtest/gtest.h>

#include "sched/testing/scheduler_harness.h"

namespace millrace::sched {
namespace {

TEST(StepsInFlight, TwoStepsInFlightContinueAPromptAndLeaveOutWhoseTokenIsNotDrawn) {
  World world({.scheduling = {.max_batched_tokens = 24}});
  world.submit({.id = 1, .prompt = 20});
  world.submit({.id = 2, .prompt = 20});
  EXPECT_EQ(to_text(world.launch()), "1:20 2:4 +1 +2");
  EXPECT_EQ(to_text(world.launch()), "2:16");
  EXPECT_TRUE(world.scheduler().plan(world.view()).empty());
  world.scheduler().check_integrity();
  world.commit();
  EXPECT_EQ(world.at(1).output_tokens(), 1);
  EXPECT_EQ(world.at(2).output_tokens(), 0) << "the second step's chunk is not the first's";
  EXPECT_EQ(to_text(world.launch()), "1:1");
}

// Of five that decode each of two steps in flight has its share, who was left out comes first, and prompts go beside
// them.
TEST(StepsInFlight, StagesShareTheRowsThatDecode) {
  World world({.scheduling = {.max_batched_tokens = 64, .stages = 2}});
  for (SequenceId id = 1; id <= 5; ++id) world.submit({.id = id, .prompt = 4, .answer = 20});
  world.step();
  EXPECT_EQ(to_text(world.launch()), "1:1 2:1 3:1");
  EXPECT_EQ(to_text(world.launch()), "4:1 5:1");
  world.commit();
  EXPECT_EQ(to_text(world.launch()), "1:1 2:1 3:1");
  world.commit();
  EXPECT_EQ(to_text(world.launch()), "4:1 5:1");
  world.submit({.id = 6, .prompt = 10});
  world.commit();
  EXPECT_EQ(to_text(world.launch()), "1:1 2:1 3:1 6:10 +6");
  world.commit();
  world.commit();
  EXPECT_EQ(to_text(world.launch()), "1:1 2:1 3:1");
  world.commit();
  EXPECT_EQ(to_text(world.launch()), "4:1 5:1 6:1") << "who were left out";
  world.scheduler().check_integrity();
}

TEST(StepsInFlight, ASequenceThatFeedsHasARowInEachStepInFlightUntilItsGreatestLength) {
  World world({});
  world.submit({.id = 1, .prompt = 3, .answer = 3, .feeds = true});
  EXPECT_EQ(to_text(world.launch()), "1:3 +1");
  EXPECT_EQ(to_text(world.launch()), "1:1");
  EXPECT_EQ(world.at(1).unseen, 2);
  EXPECT_EQ(to_text(world.launch()), "1:1");
  EXPECT_EQ(to_text(world.launch()), "") << "the last token is not computed";
  world.scheduler().check_integrity();
  for (const std::int64_t tokens : {1, 2}) {
    world.commit();
    EXPECT_EQ(world.at(1).output_tokens(), tokens);
    EXPECT_EQ(world.at(1).unseen, 3 - tokens);
  }
  world.commit();
  EXPECT_EQ(world.finished, std::vector<SequenceId>{1});
}

}  // namespace
}  // namespace millrace::sched
