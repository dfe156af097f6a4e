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
    pipeline.observe(std::span(&token, 1));
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

INSTANTIATE_TEST_SUITE_P(Seeds, FakeEngine, testing::Range(0, 200));

}  // namespace
}  // namespace millrace::simulator
