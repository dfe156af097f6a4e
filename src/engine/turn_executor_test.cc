// Turns of engines that share processors, by a clock that the test moves.

#include "engine/turn_executor.h"

#include "base/memory_env.h"
#include "engine/testing/engine_fixture.h"

namespace millrace::engine {
namespace {

constexpr std::chrono::milliseconds kStep{2}, kDraft{7};

// Takes its time for each step.
class SlowExecutor final : public ForwardingExecutor {
 public:
  SlowExecutor(std::unique_ptr<Executor> inner, MemoryEnv& env) : ForwardingExecutor(std::move(inner)), env_(env) {}
  Result<StepResult> wait() override {
    env_.time += kStep;
    return ForwardingExecutor::wait();
  }

 private:
  MemoryEnv& env_;
};

// And so does this drafter; its draft tokens are always the same.
class SlowDrafter final : public draft::Drafter {
 public:
  SlowDrafter(MemoryEnv& env, bool computes, int& calls) : env_(env), computes_(computes), calls_(calls) {}
  bool computes() const noexcept override { return computes_; }
  void draft(std::span<draft::Task> tasks) override {
    env_.time += kDraft;
    ++calls_;
    for (draft::Task& task : tasks) task.drafts = {{5, 0.9f}};
  }

 private:
  MemoryEnv& env_;
  bool computes_;
  int& calls_;
};

class TurnExecutorTest : public EngineTest {
 protected:
  // The engine's turns while it answers, and how often it drafted.
  const TurnArbiter::Member& run(bool computes) {
    auto computing =
        std::make_unique<SlowExecutor>(LocalExecutor::create(transformer_, *backend_, {}, 512).or_throw(), env_);
    auto turns = std::make_unique<TurnExecutor>(std::move(computing), turn_);
    const TurnArbiter::Member& member = turns->turns();
    engine_ = Engine::create(std::move(turns), tokenizer_, env_, Config()).or_throw();
    engine_->speculate(std::make_unique<SlowDrafter>(env_, computes, calls_),
                       SpeculationConfig{.tokens = 1, .adaptive = false});
    engine_->submit(request(9, 2, 20)).or_throw();
    while (!engine_->idle()) engine_->step();
    return member;
  }

  MemoryEnv env_;
  std::shared_ptr<TurnArbiter> turn_ = std::make_shared<TurnArbiter>(env_);
  std::unique_ptr<Engine> engine_;
  int calls_ = 0;
};

TEST_F(TurnExecutorTest, APassOfADraftingModelIsPartOfItsEnginesTime) {
  const TurnArbiter::Member& member = run(true);
  const std::int64_t steps = engine_->counters().steps;
  EXPECT_GT(calls_, 8);
  EXPECT_EQ(member.turns(), steps + calls_);
  EXPECT_DOUBLE_EQ(member.milliseconds(), static_cast<double>(kStep.count() * steps + kDraft.count() * calls_));
}

// Whoever chooses lengths of drafts adds what drafting takes to what steps take.
TEST_F(TurnExecutorTest, WhatDraftingTakesIsNoPartOfWhatAStepTakes) {
  run(true);
  const sched::StepWork step{.tokens = 2, .kv_tokens = 40, .samples = 2};
  EXPECT_NEAR(engine_->step_cost().milliseconds(step), static_cast<double>(kStep.count()), 1.0);
}

TEST_F(TurnExecutorTest, LookingIntoTheTextIsNot) {
  const TurnArbiter::Member& member = run(false);
  const std::int64_t steps = engine_->counters().steps;
  EXPECT_GT(calls_, 8);
  EXPECT_EQ(member.turns(), steps);
  EXPECT_DOUBLE_EQ(member.milliseconds(), static_cast<double>(kStep.count() * steps));
}

}  // namespace
}  // namespace millrace::engine
