#include "sched/scheduler.h"

#include <gtest/gtest.h>

#include "sched/testing/scheduler_harness.h"

namespace millrace::sched {
namespace {

using Ids = std::vector<SequenceId>;

Ids admitted(const StepPlan& plan) {
  Ids ids;
  for (const Admission& admission : plan.admitted) ids.push_back(admission.sequence->id);
  return ids;
}

TEST(Scheduler, FillsAStepUpToTheBudgetAndCutsThePromptThatDoesNotFit) {
  World world({.scheduling = {.max_batched_tokens = 32}});
  world.submit({.id = 1, .prompt = 20});
  world.submit({.id = 2, .prompt = 20});
  EXPECT_EQ(to_text(world.step()), "1:20 2:12 +1 +2");
  EXPECT_EQ(to_text(world.step()), "1:1 2:8");
  EXPECT_EQ(to_text(world.step()), "1:1 2:1");
}

TEST(Scheduler, GivesOneLongPromptNoMoreThanItsLimit) {
  World world({.scheduling = {.max_batched_tokens = 32, .long_prefill_tokens = 8}});
  world.submit({.id = 1, .prompt = 20});
  world.submit({.id = 2, .prompt = 20});
  EXPECT_EQ(to_text(world.step()), "1:8 2:8 +1 +2");
}

TEST(Scheduler, ShrinksTheChunkSoThatAStepKeepsToTheTimePerToken) {
  World world({.scheduling = {.max_batched_tokens = 256, .tpot_target_ms = 5.0}});
  world.submit({.id = 1, .prompt = 10, .answer = 50});
  world.step();
  world.submit({.id = 2, .prompt = 200});
  EXPECT_EQ(to_text(world.launch()), "1:1 2:49 +2");  // (1 + 49) * 0.1 ms
  world.commit();
  // Alone nothing keeps it from taking the whole budget.
  world.cancel(1);
  EXPECT_EQ(to_text(world.step()), "2:151");
}

TEST(Scheduler, LetsAPromptProgressEvenWhereTheTargetCannotBeMet) {
  World world({.scheduling = {.max_batched_tokens = 256, .tpot_target_ms = 0.5}});
  world.submit({.id = 1, .prompt = 10, .answer = 50});
  world.step();
  world.submit({.id = 2, .prompt = 3});
  EXPECT_EQ(to_text(world.step()), "1:1 2:1 +2");
}

// Sequences that feed are always in flight: who is to be preempted for another is left out of a step first.
TEST(Scheduler, AnUrgentOneTakesThePlaceOfOneThatFeeds) {
  World world({.scheduling = {.max_sequences = 2}, .policy = "priority"});
  for (SequenceId id : {1u, 2u}) {
    world.submit({.id = id, .prompt = 3, .answer = 60, .priority = 1, .feeds = true});
  }
  world.launch();
  world.launch();
  world.submit({.id = 3, .prompt = 3, .priority = 0});
  world.commit();
  EXPECT_EQ(to_text(world.launch()), "1:1") << "2 is held back";
  world.commit();
  EXPECT_EQ(to_text(world.launch()), "3:3 1:1 +3 -2");
}

TEST(Scheduler, TheOldestGetsPagesOfOneThatFeedsAfterTheStepsInFlight) {
  World world({.block_tokens = 1, .pages = 9});
  world.submit({.id = 1, .prompt = 3, .answer = 6, .predicted = 1, .feeds = true});
  world.submit({.id = 2, .prompt = 3, .answer = 6, .predicted = 1, .feeds = true});
  EXPECT_EQ(to_text(world.launch()), "1:3 2:3 +1 +2");
  EXPECT_EQ(to_text(world.launch()), "1:1 2:1");
  world.commit();
  EXPECT_EQ(to_text(world.launch()), "1:1") << "one page is left: the oldest takes it, and 2 is held back";
  world.commit();
  EXPECT_EQ(to_text(world.launch()), "1:1 -2");
  while (world.live() > 0) world.step();
}

// Else it would go on in its last page, always in flight, while the oldest waits for a page.
TEST(Scheduler, OneThatFeedsIsHeldBackForTheOldestAlsoWhereItNeedsNoPageItself) {
  World world({.block_tokens = 4, .pages = 2});
  world.submit({.id = 1, .prompt = 3, .answer = 4, .predicted = 1, .feeds = true});
  world.submit({.id = 2, .prompt = 1, .answer = 4, .predicted = 1, .feeds = true});
  EXPECT_EQ(to_text(world.launch()), "1:3 2:1 +1 +2");
  EXPECT_EQ(to_text(world.launch()), "1:1 2:1");
  world.commit();
  EXPECT_EQ(to_text(world.launch()), "") << "2 has room for two tokens more";
  world.commit();
  EXPECT_EQ(to_text(world.launch()), "1:1 -2");
  while (world.live() > 0) world.step();
}

TEST(Scheduler, PausedSequencesKeepTheirPagesAndTakeNoPart) {
  World world({});
  world.submit({.id = 1});
  world.submit({.id = 2});
  world.step();
  world.at(1).paused = true;
  EXPECT_EQ(to_text(world.step()), "2:1");
  EXPECT_FALSE(world.at(1).blocks.blocks().empty());
  world.at(1).paused = false;
  EXPECT_EQ(to_text(world.step()), "1:1 2:1");
}

TEST(Scheduler, ASlowReadersPlaceGoesToOneWhoWaits) {
  World world({.scheduling = {.max_sequences = 2}});
  world.submit({.id = 1});
  world.submit({.id = 2});
  world.step();
  world.submit({.id = 3});
  EXPECT_EQ(to_text(world.step()), "1:1 2:1");
  world.at(1).paused = true;
  EXPECT_EQ(to_text(world.step()), "2:1 3:16 +3 -1");
  EXPECT_TRUE(world.at(1).paused);
  EXPECT_EQ(to_text(world.step()), "2:1 3:1");  // paused, it does not come back
}

// A device has lost them: nobody waits for what a slow reader will need when it reads again.
TEST(Scheduler, ASlowReaderWhosePagesAreLostHoldsBackNobody) {
  World world({.scheduling = {.max_batched_tokens = 128}, .pages = 8});
  world.submit({.id = 1, .prompt = 100});
  world.step();
  Sequence& reader = world.at(1);
  reader.paused = true;
  reader.blocks.truncate(0);
  reader.scheduled = reader.computed = 0;
  world.submit({.id = 2, .prompt = 60});
  EXPECT_EQ(to_text(world.step()), "2:60 +2 -1");
}

TEST(Scheduler, AdmitsOnlyWhileThePredictedPeakFits) {
  // Eight pages of 16. Each holds 32 tokens and will add 32: together at most two.
  World world({.pages = 8});
  for (SequenceId id = 1; id <= 3; ++id) world.submit({.id = id, .prompt = 32, .answer = 32});
  EXPECT_EQ(admitted(world.step()), (Ids{1, 2}));
  for (int i = 0; i < 31; ++i) {
    const StepPlan plan = world.step();
    EXPECT_TRUE(plan.preempted.empty() && plan.admitted.empty());
  }
  EXPECT_EQ(world.finished.size(), 2u);
  EXPECT_EQ(admitted(world.step()), (Ids{3}));
}

TEST(Scheduler, AdmitsAShortAnswerBesideALongOneThatWillGrowLater) {
  // 1 needs all eight pages in the end, but 2 is long gone then.
  World world({.pages = 8});
  world.submit({.id = 1, .prompt = 16, .answer = 112});
  world.submit({.id = 2, .prompt = 16, .answer = 4});
  EXPECT_EQ(admitted(world.step()), (Ids{1, 2}));
  while (world.live() > 0) EXPECT_TRUE(world.step().preempted.empty());
}

TEST(Scheduler, AdmitsASequenceAloneWhateverItsPeak) {
  World world({.pages = 4});
  world.submit({.id = 1, .prompt = 60, .answer = 4});
  EXPECT_EQ(to_text(world.step()), "1:60 +1");
  while (world.live() > 0) EXPECT_FALSE(world.step().empty());
}

TEST(Scheduler, RefusesWhatCanNeverFit) {
  World world({.pages = 4});
  world.submit({.id = 1, .prompt = 60, .answer = 5});
  world.submit({.id = 2, .prompt = 60, .answer = 4});
  EXPECT_EQ(to_text(world.step()), "2:60 +2 x1");
  ASSERT_EQ(world.rejected.size(), 1u);
  EXPECT_EQ(world.rejected[0].second, "prompt and answer may need 65 tokens of the KV cache, which holds 64");
}

TEST(Scheduler, PreemptsTheLastInLineWherePagesRunOutAndTakesItBackLater) {
  // Both are thought to be short, and are not.
  World world({.pages = 4});
  world.submit({.id = 1, .prompt = 16, .answer = 40, .predicted = 2});
  world.submit({.id = 2, .prompt = 16, .answer = 40, .predicted = 2});
  int preemptions = 0;
  while (world.live() > 0) {
    const StepPlan plan = world.step();
    ASSERT_FALSE(plan.empty());
    for (const Sequence* sequence : plan.preempted) {
      EXPECT_EQ(sequence->id, 2u);
      ++preemptions;
    }
  }
  EXPECT_GE(preemptions, 1);
  EXPECT_EQ(world.finished, (Ids{1, 2}));
  EXPECT_EQ(world.cache().available(), 4);
}

TEST(Scheduler, CutsChunksToThePagesThatAreLeft) {
  World world({.scheduling = {.max_batched_tokens = 64, .long_prefill_tokens = 32}, .pages = 16});
  world.submit({.id = 1, .prompt = 96});
  world.submit({.id = 2, .prompt = 96});
  EXPECT_EQ(to_text(world.step()), "1:32 2:32 +1 +2");
  ASSERT_TRUE(world.hold(16 * 9));
  EXPECT_EQ(to_text(world.step()), "1:32 2:16") << "three pages are left";
  EXPECT_EQ(to_text(world.step()), "1:32 -2");
}

TEST(Scheduler, BringsASwappedSequenceBackWhereItWas) {
  World world({.pages = 4, .swap = true});
  world.submit({.id = 1, .prompt = 16, .answer = 40, .predicted = 2});
  world.submit({.id = 2, .prompt = 16, .answer = 40, .predicted = 2});
  bool came_back = false;
  while (world.live() > 0) {
    const StepPlan plan = world.launch();
    for (const Admission& admission : plan.admitted) {
      if (admission.sequence->preemptions == 0) continue;
      came_back = true;
      EXPECT_EQ(plan.rows.back().n_tokens, 1) << "only the token drawn last is to be computed";
    }
    world.commit();
  }
  EXPECT_TRUE(came_back);
  EXPECT_EQ(world.cache().counters().swapped_in_pages, world.cache().counters().swapped_out_pages);
}

TEST(Scheduler, NeverPreemptsWhatIsInFlight) {
  World world({.scheduling = {.max_batched_tokens = 16}, .pages = 8});
  world.submit({.id = 1, .prompt = 16});
  world.submit({.id = 2, .prompt = 40});
  EXPECT_EQ(to_text(world.launch()), "1:16 +1");
  EXPECT_EQ(to_text(world.launch()), "2:16 +2");
  world.commit();
  ASSERT_TRUE(world.hold(16 * 6));
  EXPECT_EQ(to_text(world.launch()), "") << "1 needs a page, 2 cannot give its own up yet";
  world.commit();
  EXPECT_EQ(to_text(world.launch()), "1:1 -2");
}

TEST(Scheduler, SmallOnesPassAHeadThatDoesNotFitButNotForEver) {
  World world({.scheduling = {.max_bypassed = 3}, .pages = 8});
  world.submit({.id = 1, .prompt = 32, .answer = 60});
  world.step();
  world.submit({.id = 2, .prompt = 100, .answer = 4});  // needs seven pages
  Ids passed;
  for (SequenceId id = 3; id < 10; ++id) {
    world.submit({.id = id, .prompt = 8, .answer = 2});
    for (const SequenceId one : admitted(world.step())) passed.push_back(one);
    world.step();
  }
  EXPECT_EQ(passed, (Ids{3, 4, 5}));
  EXPECT_EQ(world.at(2).bypassed, 3);
  Ids later;
  while (world.live() > 0) {
    for (const SequenceId one : admitted(world.step())) later.push_back(one);
  }
  EXPECT_EQ(later.front(), 2u) << "then it is the next";
}

TEST(Scheduler, AnUrgentSequenceTakesARunningOnesPlaceButNeverTheOldests) {
  World world({.scheduling = {.max_sequences = 2}, .policy = "priority"});
  world.submit({.id = 1, .answer = 20, .priority = 5});
  world.submit({.id = 2, .answer = 20, .priority = 5});
  world.step();
  world.submit({.id = 3, .answer = 20, .priority = 5});
  EXPECT_EQ(to_text(world.step()), "1:1 2:1");
  world.submit({.id = 4, .answer = 20, .priority = 1});
  EXPECT_EQ(to_text(world.step()), "4:16 1:1 +4 -2");
  world.submit({.id = 5, .answer = 20, .priority = 0});
  EXPECT_EQ(to_text(world.step()), "5:16 1:1 +5 -4");
}

TEST(Scheduler, ASequenceIsNotPreemptedForUrgentOnesForEver) {
  World world({.scheduling = {.max_sequences = 2, .max_preemptions = 2}, .policy = "priority"});
  world.submit({.id = 1, .answer = 400, .priority = 5});
  world.submit({.id = 2, .answer = 40, .priority = 5});
  world.step();
  for (SequenceId id = 10; id < 20; ++id) {
    world.submit({.id = id, .answer = 2, .priority = 0});
    for (int i = 0; i < 4; ++i) world.step();
  }
  EXPECT_EQ(world.at(2).preemptions, 2);
}

TEST(Scheduler, ServesEverybodyWithinTheBoundWhateverThePolicySays) {
  World world({.scheduling = {.max_batched_tokens = 16, .max_sequences = 8}, .policy = "fcfs", .pages = 1000});
  world.submit({.id = 1, .prompt = 8, .answer = 100});
  world.step();
  world.cancel(1);
  world.submit({.id = 2, .prompt = 5000, .answer = 2});
  world.step();
  world.submit({.id = 3, .prompt = 16, .answer = 2});
  EXPECT_EQ(to_text(world.step()), "2:16") << "in order of arrival, all of the budget is the first's";
}

TEST(Scheduler, ADynamicBatchStartsWhenFullOrWhenItsFirstHasWaitedLongEnough) {
  World world({.scheduling = {.max_sequences = 2, .batching = BatchingMode::kDynamic, .batch_wait_ms = 10.0}});
  world.submit({.id = 1, .answer = 3});
  EXPECT_TRUE(world.step().empty());
  ASSERT_TRUE(world.scheduler().next_change());
  EXPECT_EQ(milliseconds_between(TimePoint{}, *world.scheduler().next_change()), 10.0);
  world.advance(10.0);
  EXPECT_EQ(to_text(world.step()), "1:16 +1");
  EXPECT_FALSE(world.scheduler().next_change());
  world.submit({.id = 2});
  world.submit({.id = 3});
  EXPECT_EQ(to_text(world.step()), "1:1");
  EXPECT_EQ(to_text(world.step()), "1:1");
  EXPECT_EQ(to_text(world.step()), "2:16 3:16 +2 +3") << "full: at once";
}

TEST(Scheduler, AStaticBatchWaitsForItsLastRequest) {
  World world({.scheduling = {.max_sequences = 3, .batching = BatchingMode::kStatic, .batch_wait_ms = 10.0}});
  world.submit({.id = 1});
  world.advance(8.0);
  world.submit({.id = 2});
  world.advance(8.0);
  EXPECT_TRUE(world.step().empty()) << "the second came eight milliseconds ago";
  world.advance(2.0);
  EXPECT_EQ(to_text(world.step()), "1:16 2:16 +1 +2");
}

TEST(Scheduler, ABatchBeginsTogetherThoughItsPromptsDoNotFitInOneStep) {
  World world({.scheduling = {.max_batched_tokens = 16, .max_sequences = 3, .batching = BatchingMode::kDynamic}});
  for (SequenceId id = 1; id <= 3; ++id) world.submit({.id = id, .prompt = 16});
  EXPECT_EQ(to_text(world.step()), "1:16 +1 +2 +3");
  EXPECT_EQ(to_text(world.step()), "1:1 2:15");
}

TEST(Scheduler, AnIdleEngineServesTheOneThatHasThePages) {
  // What a session was leased keeps the head from fitting.
  World world({.pages = 8});
  Sequence& leased = world.submit({.id = 2, .prompt = 100, .answer = 4});
  world.cache().reserve(leased.blocks, 0, 96);
  leased.computed = leased.scheduled = 96;
  world.scheduler().remove(leased);
  Sequence& head = world.submit({.id = 1, .prompt = 40, .answer = 4});
  world.scheduler().remove(head);
  head.arrival = TimePoint{};
  leased.arrival = TimePoint{} + std::chrono::milliseconds(1);
  world.scheduler().add(head, world.view());
  world.scheduler().add(leased, world.view());
  EXPECT_EQ(to_text(world.step()), "2:4 +2");
}

TEST(Scheduler, TakesBackLeasedPagesRatherThanStandStill) {
  World world({.pages = 8});
  Sequence& leased = world.submit({.id = 2, .prompt = 100, .answer = 4});
  leased.paused = true;
  world.cache().reserve(leased.blocks, 0, 96);
  world.submit({.id = 1, .prompt = 40, .answer = 4});
  EXPECT_EQ(to_text(world.step()), "-2");
  EXPECT_EQ(to_text(world.step()), "1:40 +1");
}

// Sessions forked from one: no page is anybody's alone.
TEST(Scheduler, TakesBackPagesThatSeveralLeaseTogether) {
  World world({.pages = 8});
  Sequence& leased = world.submit({.id = 2, .prompt = 100, .answer = 4});
  Sequence& fork = world.submit({.id = 3, .prompt = 100, .answer = 4});
  leased.paused = fork.paused = true;
  world.cache().reserve(leased.blocks, 0, 96);
  fork.blocks.share(leased.blocks.blocks());
  world.submit({.id = 1, .prompt = 40, .answer = 4});
  EXPECT_EQ(to_text(world.step()), "-3 -2");
  EXPECT_EQ(to_text(world.step()), "1:40 +1");
}

TEST(Scheduler, ARunningOneGetsThePagesThatSeveralLeaseTogether) {
  World world({.pages = 8});
  world.submit({.id = 1, .prompt = 32, .answer = 4});
  EXPECT_EQ(to_text(world.step()), "1:32 +1");
  Sequence& leased = world.submit({.id = 2, .prompt = 100, .answer = 4});
  Sequence& fork = world.submit({.id = 3, .prompt = 100, .answer = 4});
  world.cache().reserve(leased.blocks, 0, 96);
  fork.blocks.share(leased.blocks.blocks());
  leased.computed = leased.scheduled = fork.computed = fork.scheduled = 96;
  EXPECT_EQ(to_text(world.step()), "1:1 -3 -2");
}

// A decoding sequence of 16 tokens in pages of 16, with draft tokens.
Sequence& drafted(World& world) {
  Sequence& sequence = world.submit({.id = 1, .prompt = 15, .answer = 12});
  while (sequence.output_tokens() == 0) world.step();
  sequence.drafts = {1, 2, 3};
  sequence.branches = {{4}, {1, 5, 6}, {1, 2, 7}};
  return sequence;
}

TEST(Scheduler, ComputesBranchesWhereBudgetAndPagesAreLeft) {
  for (const auto& [budget, branches] : {std::pair{64, 3}, {13, 2}, {10, 2}, {9, 1}, {6, 1}, {5, 0}, {3, 0}}) {
    World world({.scheduling = {.max_batched_tokens = budget}});
    drafted(world);
    const StepPlan plan = world.scheduler().plan(world.view());
    ASSERT_EQ(plan.rows.size(), 1u);
    EXPECT_EQ(plan.rows[0].n_tokens, std::min(budget, 4));
    EXPECT_EQ(plan.rows[0].branches, static_cast<std::size_t>(branches)) << budget;
    EXPECT_LE(work_of(plan).tokens, budget);
    EXPECT_EQ(work_of(plan).tokens, plan.rows[0].n_tokens + plan.rows[0].branch_tokens());
  }
  for (const auto& [pages, branches] : {std::pair{8, 3}, {7, 2}, {6, 2}, {5, 1}, {4, 1}, {3, 0}, {2, 0}}) {
    World world({.scheduling = {.max_batched_tokens = 64}, .pages = pages});
    drafted(world);  // its last token lies at the end of its first page: a branch copies that, and takes another
    const StepPlan plan = world.scheduler().plan(world.view());
    EXPECT_EQ(plan.rows[0].branches, static_cast<std::size_t>(branches)) << pages;
  }
}

TEST(Scheduler, APlanIsTheSameWhenMadeAgain) {
  World world({.policy = "mlfq", .pages = 6});
  for (SequenceId id = 1; id <= 4; ++id) world.submit({.id = id, .prompt = 20, .answer = 10, .predicted = 1});
  for (int i = 0; i < 30; ++i) {
    const std::string before = world.dump();
    const std::string first = to_text(world.scheduler().plan(world.view()));
    EXPECT_EQ(first, to_text(world.scheduler().plan(world.view())));
    EXPECT_EQ(before, world.dump());
    world.step();
  }
}

}  // namespace
}  // namespace millrace::sched
