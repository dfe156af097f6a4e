#pragma once

// An engine on virtual time that records its answers, for tests. One thread. A step takes the time that kMachine
// predicts; prompts consist of one repeated token.

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/memory_env.h"
#include "engine/engine.h"
#include "server/observe/request_record.h"
#include "simulator/fake_executor.h"
#include "text/blank_tokenizer.h"

namespace millrace::server::observe {

class ObservedRun {
 public:
  static constexpr sched::StepCost kMachine{
      .fixed_ms = 1.0, .weights_ms = 4.0, .token_ms = 0.5, .kv_token_ms = 0.001, .sample_ms = 0.1};

  explicit ObservedRun(std::int32_t pages = 64, std::int64_t sequences = 4) {
    env.time = TimePoint(std::chrono::hours(1));
    const auto advance = [this](const engine::StepInput& input, std::span<float>) -> Result<void> {
      env.time += std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double, std::milli>(kMachine.milliseconds(simulator::work_of(input))));
      return {};
    };
    engine::Config config;
    config.scheduling.max_sequences = sequences;
    config.scheduling.max_batched_tokens = 32;
    config.step_cost = kMachine;
    engine = engine::Engine::create(std::make_unique<simulator::FakeExecutor>(
                                        simulator::FakeExecutor::Config{
                                            .vocab_size = 16, .max_length = 1024, .block_tokens = 8, .pages = pages},
                                        advance),
                                    text::blank_tokenizer(16), env, config)
                 .or_throw();
  }

  engine::RequestId submit(std::int64_t prompt, std::int64_t answer, std::int32_t token = 1) {
    engine::Request request;
    request.tokens.assign(static_cast<std::size_t>(prompt), token);
    request.sampling.temperature = 0.0;
    request.sampling.max_tokens = answer;
    request.sampling.ignore_eos = true;
    return engine->submit(std::move(request)).or_throw();
  }

  void step() {
    for (const engine::Output& output : engine->step()) {
      if (output.finish == engine::FinishReason::kNone) continue;
      RequestRecord& record = records[output.request];
      record.model = "tiny";
      record.route = "/v1/completions";
      record.request_id = "cmpl-" + std::to_string(output.request);
      record.engine_request = output.request;
      record.answers.push_back({output.stats, *output.spent, output.finish});
      record.received = output.stats.arrival;
      record.finished = output.spent->finished;
      record.max_tokens = 100;
      if (output.last && on_end) on_end(record);
    }
  }
  void run() {
    for (int i = 0; i < 10000 && !engine->idle(); ++i) step();
    ASSERT_TRUE(engine->idle());
  }

  MemoryEnv env;
  std::unique_ptr<engine::Engine> engine;
  std::map<engine::RequestId, RequestRecord> records;
  std::function<void(const RequestRecord&)> on_end;
};

}  // namespace millrace::server::observe
