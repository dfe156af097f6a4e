#include "sched/scheduler.h"

#include <gtest/gtest.h>

namespace millrace::sched {
namespace {

std::unique_ptr<Sequence> make(kv::BlockPool& pool, SequenceId id, std::int64_t prompt, std::int64_t max_total) {
  auto s = std::make_unique<Sequence>(kv::BlockTable(pool, 32));
  s->id = id;
  s->tokens.assign(static_cast<std::size_t>(prompt), 1);
  s->prompt_tokens = prompt;
  s->max_total = max_total;
  return s;
}

StepPlan next(Scheduler& scheduler) {
  scheduler.admit();
  return scheduler.plan();
}

// Pretends the step ran: every row computed, sampling rows grow by a token.
void commit(const StepPlan& plan) {
  for (const StepRow& row : plan) {
    const bool samples = row.samples();
    row.sequence->computed += row.n_tokens;
    if (samples) row.sequence->tokens.push_back(2);
  }
}

TEST(Scheduler, CutsPromptsIntoChunksAndLetsDecodingGoFirst) {
  kv::BlockPool pool(64);
  Scheduler scheduler({.max_batched_tokens = 100, .max_sequences = 8});
  scheduler.add(make(pool, 1, 10, 40));
  StepPlan plan = next(scheduler);
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].n_tokens, 10);
  EXPECT_TRUE(plan[0].samples());
  commit(plan);
  scheduler.add(make(pool, 2, 250, 300));
  for (const std::int64_t chunk : {99, 99, 52}) {
    plan = next(scheduler);
    ASSERT_EQ(plan.size(), 2u);
    EXPECT_EQ(plan[0].sequence->id, 1u);
    EXPECT_EQ(plan[0].n_tokens, 1);
    EXPECT_EQ(plan[1].n_tokens, chunk);
    commit(plan);
  }
  EXPECT_EQ(next(scheduler)[1].n_tokens, 1);
}

TEST(Scheduler, AdmitsInOrderAndOnlyWhatFits) {
  kv::BlockPool pool(4);
  Scheduler scheduler({});
  scheduler.add(make(pool, 1, 10, 96));
  scheduler.add(make(pool, 2, 10, 64));
  scheduler.add(make(pool, 3, 10, 32));
  EXPECT_EQ(next(scheduler).size(), 1u);
  EXPECT_EQ(scheduler.waiting(), 2u);  // 3 would fit but does not pass 2
  EXPECT_EQ(scheduler.remove(1)->id, 1u);
  EXPECT_EQ(pool.free(), 4);
  EXPECT_EQ(next(scheduler).size(), 2u);
  EXPECT_EQ(scheduler.remove(7), nullptr);
}

}  // namespace
}  // namespace millrace::sched
