// Where the time of answers goes, on a clock that moves by the step cost model: every part is known exactly.

#include <gtest/gtest.h>

#include <map>

#include "base/memory_env.h"
#include "engine/engine.h"
#include "engine/forwarding_executor.h"
#include "simulator/fake_executor.h"
#include "text/blank_tokenizer.h"

namespace millrace::simulator {
namespace {

using engine::Engine;
using engine::FinishReason;
using engine::RequestStats;
using engine::StepReport;

constexpr sched::StepCost kMachine{
    .fixed_ms = 1.0, .weights_ms = 4.0, .token_ms = 1.0, .kv_token_ms = 0.0, .sample_ms = 0.5};

Clock::duration of_ms(double ms) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(ms));
}

// Says of each step that it chose two experts of ten bytes.
class WithExperts final : public engine::ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;
  Result<engine::StepResult> wait() override {
    auto result = ForwardingExecutor::wait();
    if (result) result->experts = {.layers = 1, .experts = 8, .touched = 2, .busiest = 1, .even = 1, .bytes = 20.0};
    return result;
  }
};

class TimeSpentTest : public testing::Test {
 protected:
  void start(std::int32_t pages = 64, std::int64_t budget = 64, std::int64_t sequences = 8, int depth = 1) {
    env_.time = TimePoint(std::chrono::hours(1));
    const auto advance = [this](const engine::StepInput& input, std::span<float>) -> Result<void> {
      env_.time += of_ms(machine_.milliseconds(work_of(input)));
      return {};
    };
    engine::Config config;
    config.scheduling.max_batched_tokens = budget;
    config.scheduling.max_sequences = sequences;
    config.prefix_caching = false;
    config.step_cost = machine_;
    engine_ =
        Engine::create(std::make_unique<WithExperts>(std::make_unique<FakeExecutor>(
                           FakeExecutor::Config{
                               .vocab_size = 16, .max_length = 4096, .block_tokens = 8, .pages = pages, .depth = depth},
                           advance)),
                       text::blank_tokenizer(16), env_, config)
            .or_throw();
    engine_->reporter().observe([this](const StepReport& report) {
      ++reports_;
      prefill_ += report.prefill_tokens;
      decode_ += report.decode_tokens;
      sampled_ += static_cast<std::int64_t>(report.tokens.size());
      preempted_ += report.preempted;
      EXPECT_EQ(report.pages.free + report.pages.cached + report.pages.used, report.pages.total);
      EXPECT_NEAR(report.schedule_ms + report.prepare_ms + report.forward_ms + report.commit_ms,
                  milliseconds_between(report.start, report.end), depth_ == 1 ? 1e-6 : 1e9);
    });
    depth_ = depth;
  }
  engine::RequestId submit(std::int64_t prompt, std::int64_t answer) {
    engine::Request request;
    request.tokens.assign(static_cast<std::size_t>(prompt), 1);
    request.sampling.temperature = 0.0;
    request.sampling.max_tokens = answer;
    request.sampling.ignore_eos = true;
    return engine_->submit(std::move(request)).or_throw();
  }
  void step() {
    for (const engine::Output& output : engine_->step()) {
      if (output.finish != FinishReason::kNone) ended_[output.request] = {output.stats, *output.spent};
    }
  }
  struct Ended {
    RequestStats stats;
    engine::TimeSpent spent;
  };
  // Runs all to their ends: the parts of each must add up.
  void run() {
    for (int i = 0; i < 10000 && !engine_->idle(); ++i) step();
    ASSERT_TRUE(engine_->idle());
    for (const auto& [id, ended] : ended_) {
      EXPECT_NEAR(ended.spent.total_ms(), milliseconds_between(ended.stats.arrival, ended.spent.finished), 1e-6) << id;
    }
  }

  sched::StepCost machine_ = kMachine;
  MemoryEnv env_;
  std::unique_ptr<Engine> engine_;
  std::map<engine::RequestId, Ended> ended_;
  std::int64_t reports_ = 0, prefill_ = 0, decode_ = 0, sampled_ = 0, preempted_ = 0;
  int depth_ = 1;
};

TEST_F(TimeSpentTest, OfOneAloneIsPrefillAndDecodeOnly) {
  start();
  const auto id = submit(20, 5);
  run();
  const Ended& stats = ended_.at(id);
  EXPECT_NEAR(stats.spent.prefill_ms, 1.0 + 20.0 + 0.5, 1e-6);
  EXPECT_NEAR(stats.spent.decode_ms, 4 * (1.0 + 4.0 + 0.5), 1e-6);
  EXPECT_NEAR(stats.spent.total_ms(), stats.spent.prefill_ms + stats.spent.decode_ms, 1e-6);
  EXPECT_EQ(stats.spent.steps, 5);
  EXPECT_EQ(stats.spent.finished, stats.stats.last_token);
  EXPECT_EQ(reports_, 5);
  EXPECT_EQ(prefill_, 20);
  EXPECT_EQ(decode_, 4);
  EXPECT_EQ(sampled_, 5);
}

TEST_F(TimeSpentTest, CountsWhatItsStepsHadToDo) {
  start();
  struct Sums {
    double decode_read_bytes = 0.0, prefill_operations = 0.0, decode_ms = 0.0;
    std::int64_t decode_steps = 0;
  };
  std::map<engine::RequestId, Sums> sums;
  engine_->reporter().measure([](const StepReport& report) {
    return engine::StepWorkload{.read_bytes = 1000.0 + static_cast<double>(report.kv_tokens_read),
                                .operations = static_cast<double>(report.prefill_tokens + report.decode_tokens)};
  });
  engine_->reporter().observe([&](const StepReport& report) {
    for (const engine::RowReport& row : report.rows) {
      Sums& sum = sums[row.request];
      if (row.decode) sum.decode_read_bytes += report.workload.read_bytes;
      if (row.decode) ++sum.decode_steps;
      if (row.decode) sum.decode_ms += milliseconds_between(report.start, report.end);
      if (!row.decode) sum.prefill_operations += report.workload.operations;
    }
  });
  const auto alone = submit(20, 5);
  run();
  // Steps of one token at positions 20 to 23, which read themselves too.
  EXPECT_DOUBLE_EQ(ended_.at(alone).spent.decode_read_bytes, 4 * 1000.0 + 21 + 22 + 23 + 24);
  EXPECT_DOUBLE_EQ(ended_.at(alone).spent.prefill_operations, 20.0);
  submit(4, 300);  // longer than an epoch of the sums
  submit(80, 300);
  submit(7, 40);
  run();
  ASSERT_EQ(ended_.size(), 4u);
  for (const auto& [id, ended] : ended_) {  // the whole steps', with the others' tokens
    EXPECT_NEAR(ended.spent.decode_read_bytes, sums[id].decode_read_bytes, 1e-3) << id;
    EXPECT_EQ(ended.spent.decode_experts.layers, sums[id].decode_steps) << id;
    EXPECT_EQ(ended.spent.decode_experts.touched, 2 * sums[id].decode_steps) << id;
    EXPECT_NEAR(ended.spent.decode_experts.bytes, 20.0 * static_cast<double>(sums[id].decode_steps), 1e-6) << id;
    EXPECT_NEAR(ended.spent.prefill_operations, sums[id].prefill_operations, 1e-6) << id;
    EXPECT_NEAR(ended.spent.decode_steps_ms(), sums[id].decode_ms, 1e-6) << id;
    EXPECT_GT(ended.spent.decode_read_bytes, 0.0);
  }
}

TEST_F(TimeSpentTest, CountsStepsMadeSlowerByOthersPromptsAndByTheBatch) {
  start();
  const auto first = submit(4, 12);
  step();  // its prompt
  const auto second = submit(32, 8);
  run();
  const engine::TimeSpent& spent = ended_.at(first).spent;
  EXPECT_GT(spent.decode_prefill_ms, 20.0);  // 32 tokens of a millisecond each beside its own
  EXPECT_GT(spent.decode_batch_ms, 1.0);     // 0.5 ms of sampling for the other in most steps
  EXPECT_LT(spent.decode_batch_ms, 10.0);
  EXPECT_EQ(spent.queue_ms + spent.preempted_ms + spent.paused_ms + spent.recompute_ms, 0.0);
  EXPECT_GT(ended_.at(second).spent.prefill_shared_ms, 0.0);
}

TEST_F(TimeSpentTest, OfHundredsOfStepsCountsWhatEachLookedBackOn) {
  machine_.kv_token_ms = 0.01;
  start(128);
  const auto id = submit(20, 700);
  run();
  const engine::TimeSpent& spent = ended_.at(id).spent;
  // Step i of 699 computes the token at position 20 + i, which looks back on 21 + i.
  EXPECT_NEAR(spent.decode_ms, 699 * (1.0 + 4.0 + 0.5) + 0.01 * (699 * 21 + 699 * 349), 1e-3);
  EXPECT_NEAR(spent.decode_batch_ms, 0.0, 1e-3);
  EXPECT_EQ(spent.steps, 700);
}

TEST_F(TimeSpentTest, TellsItsOwnStepsFromThoseThatWentToOthers) {
  start(64, 1, 2);  // one token a step: the two take turns
  const auto first = submit(1, 100), second = submit(1, 100);
  run();
  for (const auto id : {first, second}) {
    const engine::TimeSpent& spent = ended_.at(id).spent;
    EXPECT_EQ(spent.steps, 100);
    EXPECT_NEAR(spent.prefill_ms + spent.decode_ms, 100 * (1.0 + 4.0 + 0.5), 1e-3);
    EXPECT_NEAR(spent.decode_batch_ms, 0.0, 1e-3);
  }
}

TEST_F(TimeSpentTest, CountsWaitingForAPlace) {
  start(64, 64, 1);
  const auto first = submit(8, 10);
  const auto second = submit(8, 10);
  run();
  EXPECT_EQ(ended_.at(first).spent.queue_ms, 0.0);
  EXPECT_NEAR(ended_.at(second).spent.queue_ms, ended_.at(first).spent.total_ms(), 1e-6);
  EXPECT_NEAR(ended_.at(second).stats.queue_ms(), ended_.at(second).spent.queue_ms, 1e-6);
}

TEST_F(TimeSpentTest, CountsPreemptionsAndWhatTheyCost) {
  start(10);  // 80 tokens of pages: not both answers at full length
  std::vector<engine::RequestId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(submit(16, 40));
  run();
  double lost = 0.0;
  std::int64_t preemptions = 0;
  for (const auto id : ids) {
    const Ended& stats = ended_.at(id);
    preemptions += stats.stats.preemptions;
    lost += stats.spent.preempted_ms;
    EXPECT_EQ(stats.spent.recompute_ms > 0.0, stats.spent.recomputed_tokens > 0);
  }
  ASSERT_GT(preemptions, 0);
  EXPECT_EQ(preempted_, preemptions);
  EXPECT_GT(lost, 0.0);
}

TEST_F(TimeSpentTest, CountsPausesByTheReader) {
  start();
  const auto id = submit(8, 10);
  for (int i = 0; i < 3; ++i) step();
  engine_->pause(id, true);
  env_.time += of_ms(700.0);
  step();
  env_.time += of_ms(300.0);
  engine_->pause(id, false);
  run();
  EXPECT_NEAR(ended_.at(id).spent.paused_ms, 1000.0, 1e-6);
}

TEST_F(TimeSpentTest, AddsUpForCancelledOnesAndForSeveralAnswers) {
  start(64, 64, 4);
  engine::Request request;
  request.tokens.assign(30, 2);
  request.n = 3;
  request.sampling.max_tokens = 9;
  request.sampling.ignore_eos = true;
  ASSERT_TRUE(engine_->submit(std::move(request)));
  const auto queued = submit(8, 50);
  const auto running = submit(8, 50);
  for (int i = 0; i < 6; ++i) step();
  engine_->cancel(queued);
  env_.time += of_ms(40.0);
  engine_->cancel(running);
  run();
  EXPECT_EQ(ended_.size(), 3u);
}

TEST_F(TimeSpentTest, AddsUpWithTwoStepsInFlight) {
  start(12, 32, 4, 2);
  for (int i = 0; i < 5; ++i) submit(10 + 5 * i, 30);
  run();
  EXPECT_EQ(ended_.size(), 5u);
  EXPECT_EQ(sampled_, 150);
}

}  // namespace
}  // namespace millrace::simulator
