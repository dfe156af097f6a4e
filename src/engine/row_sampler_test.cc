// The rows of a step are sampled from side by side, with the tokens of one after the other.

#include "engine/forwarding_executor.h"
#include "engine/testing/engine_fixture.h"

namespace millrace::engine {
namespace {

// Counts the rows that are sampled from in for_each(), and the threads that do it.
class Counting final : public ForwardingExecutor {
 public:
  Counting(std::unique_ptr<Executor> inner, std::int64_t& rows) : ForwardingExecutor(std::move(inner)), rows_(rows) {}
  void for_each(std::int64_t items, const std::function<void(std::int64_t)>& item) override {
    rows_ += items;
    ForwardingExecutor::for_each(items, item);
  }

 private:
  std::int64_t& rows_;
};

class SamplingTest : public EngineTest {
 protected:
  std::unique_ptr<Engine> counting(std::int64_t from_logits) {
    Config config;
    config.scheduling.max_sequences = 16;
    config.side_by_side_logits = from_logits;
    auto executor = LocalExecutor::create(transformer_, *backend_, {}, 4096).or_throw();
    return Engine::create(std::make_unique<Counting>(std::move(executor), rows_), tokenizer_, Env::system(), config)
        .or_throw();
  }
  std::vector<std::vector<std::int32_t>> answers(Engine& engine) {
    for (unsigned i = 0; i < 8; ++i) {
      Request r = request(9 + i, i);
      r.sampling.temperature = i % 3 == 0 ? 0.0 : 0.8;
      r.sampling.top_p = 0.9;
      r.sampling.repetition_penalty = 1.2;
      r.sampling.mirostat_mode = i == 5 ? 2 : 0;
      r.n = i == 4 ? 2 : 1;
      engine.submit(r).or_throw();
    }
    std::vector<std::vector<std::int32_t>> tokens;
    for (const auto& [id, collected] : drain(engine)) tokens.push_back(collected.tokens);
    return tokens;
  }
  std::int64_t rows_ = 0;
};

TEST_F(SamplingTest, SideBySideGivesTheTokensOfOneRowAfterTheOther) {
  const auto alone = answers(*counting(std::int64_t{1} << 40));
  EXPECT_EQ(rows_, 0);
  const auto together = answers(*counting(0));
  EXPECT_GT(rows_, 8 * 15);
  EXPECT_EQ(together, alone);
}

TEST_F(SamplingTest, ARowWhoseBansLeaveNothingFailsAlone) {
  const auto engine = counting(0);
  Request banned = request(10, 1);
  banned.sampling.allowed_token_ids = {7};
  banned.sampling.bad_words = {{7}};
  const RequestId wrong = engine->submit(banned).or_throw();
  const RequestId right = engine->submit(request(10, 2)).or_throw();
  auto collected = drain(*engine);
  EXPECT_GT(rows_, 0);
  EXPECT_EQ(collected.at(wrong).last.finish, FinishReason::kError);
  EXPECT_EQ(collected.at(right).tokens.size(), 20u);
}

}  // namespace
}  // namespace millrace::engine
