// The engine on the fake model: whatever it does with pages, every answer is the reference's.

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "base/memory_env.h"
#include "engine/engine.h"
#include "loadgen/blank_tokenizer.h"
#include "simulator/fake_executor.h"

namespace millrace::simulator {
namespace {

using engine::Engine;
using engine::FinishReason;
using engine::Output;
using engine::Request;

std::vector<std::int32_t> reference(const Request& request, int choice, std::int64_t vocabulary, std::int64_t limit) {
  decode::SamplingParams sampling = request.sampling;
  sampling.seed += static_cast<std::uint64_t>(choice);
  decode::LogitsPipeline pipeline(sampling, vocabulary);
  std::vector<std::int32_t> tokens = request.tokens;
  pipeline.observe(tokens);
  std::vector<std::int32_t> answer;
  while (static_cast<std::int64_t>(answer.size()) < sampling.max_tokens &&
         static_cast<std::int64_t>(tokens.size()) < limit) {
    const std::int32_t token =
        *pipeline.sample(fake_logits(tokens, vocabulary), static_cast<std::int64_t>(tokens.size()));
    tokens.push_back(token);
    answer.push_back(token);
    pipeline.accept(token);
  }
  return answer;
}

struct Case {
  FakeExecutor::Config executor;
  engine::Config engine;
};

class FakeEngine : public testing::TestWithParam<int> {
 protected:
  void start(const Case& setup) {
    setup_ = setup;
    auto executor = std::make_unique<FakeExecutor>(setup.executor,
                                                   [this](const model::BatchInput&, std::span<float>) -> Result<void> {
                                                     env_.time += std::chrono::milliseconds(5);
                                                     if (failing_)
                                                       return make_error(ErrorCode::kInternal, "", "broken");
                                                     return {};
                                                   });
    engine_ =
        Engine::create(std::move(executor), loadgen::blank_tokenizer(setup.executor.vocab_size), env_, setup.engine)
            .or_throw();
  }

  Request random_request(std::mt19937& random) {
    Request r;
    // Prompts share beginnings: of a few roots, a random length, then their own end.
    const std::uint32_t root = random() % 3;
    const std::size_t shared = random() % 60, own = 1 + random() % 30;
    std::mt19937 roots(root);
    for (std::size_t i = 0; i < shared; ++i) r.tokens.push_back(static_cast<std::int32_t>(roots() % 61));
    for (std::size_t i = 0; i < own; ++i) r.tokens.push_back(static_cast<std::int32_t>(random() % 61));
    r.sampling.max_tokens = 1 + static_cast<std::int64_t>(random() % 40);
    r.sampling.temperature = random() % 2 == 0 ? 0.0 : 1.0;
    r.sampling.seed = random();
    r.n = random() % 5 == 0 ? 3 : 1;
    r.cache_salt = random() % 4 == 0 ? "b" : "";
    return r;
  }

  void serve(unsigned seed) {
    std::mt19937 random(seed);
    std::map<engine::RequestId, Request> requests;
    std::map<std::pair<engine::RequestId, int>, std::vector<std::int32_t>> got;
    std::size_t ended = 0, submitted = 0, steps = 0;
    while (submitted < 40 || !engine_->idle()) {
      if (submitted < 40 && random() % 3 == 0) {
        const Request r = random_request(random);
        const auto id = engine_->submit(r);
        ASSERT_TRUE(id) << id.error().message;
        requests.emplace(*id, r);
        ++submitted;
        if (random() % 6 == 0) engine_->cancel(*id);
      }
      for (const Output& output : engine_->step()) {
        ASSERT_FALSE(output.error) << output.error->message;
        auto& tokens = got[{output.request, output.choice}];
        if (output.token) tokens.push_back(*output.token);
        if (output.finish == FinishReason::kNone) continue;
        ++ended;
        const auto expected = reference(requests.at(output.request), output.choice, 61, engine_->max_length());
        if (output.finish == FinishReason::kCancelled) {
          ASSERT_TRUE(std::equal(tokens.begin(), tokens.end(), expected.begin()));
        } else {
          ASSERT_EQ(tokens, expected) << "request " << output.request << " choice " << output.choice;
        }
      }
      engine_->check_integrity();
      ASSERT_LT(++steps, 20000u) << "no progress";
    }
    EXPECT_GE(ended, 40u);
    EXPECT_EQ(engine_->kv_free_tokens(), engine_->kv_capacity_tokens());
  }

  Case setup_;
  bool failing_ = false;
  MemoryEnv env_;
  std::unique_ptr<Engine> engine_;
};

TEST_P(FakeEngine, GivesEveryAnswerTheTokensItWouldHaveAlone) {
  const int seed = GetParam();
  std::mt19937 random(static_cast<unsigned>(seed) + 1000);
  const std::int64_t blocks[] = {1, 8, 16, 32, 64};
  Case c;
  c.executor.block_tokens = blocks[random() % 5];
  c.executor.pages = static_cast<std::int32_t>((140 + random() % 400) / c.executor.block_tokens + 3);
  c.executor.depth = 1 + static_cast<int>(random() % 2);
  c.engine.scheduling.max_batched_tokens = 1 + static_cast<std::int64_t>(random() % 100);
  c.engine.scheduling.max_sequences = 3 + static_cast<std::int64_t>(random() % 20);
  c.engine.prefix_caching = random() % 4 != 0;
  c.engine.swap_bytes = random() % 2 == 0 ? 1 << 16 : 0;
  c.engine.preemption = static_cast<engine::Preemption>(random() % 3);
  SCOPED_TRACE(
      fmt::format("pages of {}, {} of them, depth {}, budget {}, {} sequences, prefixes {}, swap {}, preemption {}",
                  c.executor.block_tokens, c.executor.pages, c.executor.depth, c.engine.scheduling.max_batched_tokens,
                  c.engine.scheduling.max_sequences, c.engine.prefix_caching, c.engine.swap_bytes,
                  static_cast<int>(c.engine.preemption)));
  start(c);
  serve(static_cast<unsigned>(seed));
}

// What the simulator has found, each as small as it gets.
class FakeEngineFixed : public FakeEngine {
 protected:
  static Request plain(std::size_t prompt, std::int64_t answer) {
    Request r;
    for (std::size_t i = 0; i < prompt; ++i) r.tokens.push_back(static_cast<std::int32_t>(1 + i % 60));
    r.sampling.temperature = 0.0;
    r.sampling.max_tokens = answer;
    r.sampling.ignore_eos = true;
    return r;
  }
  std::vector<Output> until_idle() {
    std::vector<Output> all;
    for (int step = 0; step < 1000 && !engine_->idle(); ++step) {
      for (Output& output : engine_->step()) all.push_back(std::move(output));
      engine_->check_integrity();
    }
    EXPECT_TRUE(engine_->idle());
    return all;
  }
};

TEST_P(FakeEngineFixed, ASessionMayGoOnUnderAnotherSalt) {
  start({});
  const auto session = engine_->open_session();
  for (const char* salt : {"a", "b"}) {
    Request r = plain(40, 10);
    r.session = session;
    r.append_to_session = true;
    r.cache_salt = salt;
    engine_->submit(r).or_throw();
    for (const Output& output : until_idle()) EXPECT_EQ(output.stats.cached_tokens, 0) << salt;
  }
}

TEST_P(FakeEngineFixed, ACancelledPromptIsComputedNoFurther) {
  Case c;
  c.executor.depth = 2;
  c.engine.scheduling.max_batched_tokens = 8;
  start(c);
  const auto id = engine_->submit(plain(800, 1)).or_throw();
  static_cast<void>(engine_->step());
  engine_->cancel(id);
  std::size_t outputs = engine_->step().size();
  outputs += engine_->step().size();
  EXPECT_EQ(outputs, 1u);
  EXPECT_TRUE(engine_->idle());
}

TEST_P(FakeEngineFixed, ARequestOfTwoFailedStepsEndsOnce) {
  Case c;
  c.executor.depth = 2;
  c.engine.scheduling.max_batched_tokens = 8;
  start(c);
  failing_ = true;
  engine_->submit(plain(100, 1)).or_throw();
  const auto outputs = until_idle();
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].finish, FinishReason::kError);
}

TEST_P(FakeEngineFixed, ARunningRequestGetsThePagesOfIdleSessions) {
  Case c;
  c.executor.pages = 10;
  c.engine.prefix_caching = false;
  start(c);
  Request held = plain(80, 2);
  held.session = engine_->open_session();
  engine_->submit(held).or_throw();
  until_idle();
  engine_->submit(plain(30, 100)).or_throw();
  EXPECT_EQ(until_idle().size(), 100u);
}

TEST_P(FakeEngineFixed, ReadersPreemptedTooOftenKeepNobodyFromBeingServed) {
  Case c;
  c.engine.scheduling.max_sequences = 1;
  c.engine.scheduling.most_preemptions = 1;
  start(c);
  const auto slow = engine_->submit(plain(20, 200)).or_throw();
  for (int round = 0; round < 3; ++round) {
    engine_->pause(slow, false);
    for (int i = 0; i < 5; ++i) static_cast<void>(engine_->step());
    engine_->pause(slow, true);
    const auto other = engine_->submit(plain(5, 3)).or_throw();
    bool ended = false;
    for (int i = 0; i < 20 && !ended; ++i) {
      for (const Output& output : engine_->step()) ended = ended || (output.request == other && output.last);
    }
    EXPECT_TRUE(ended) << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Once, FakeEngineFixed, testing::Values(0));

INSTANTIATE_TEST_SUITE_P(Seeds, FakeEngine, testing::Range(0, 200));

}  // namespace
}  // namespace millrace::simulator
