#include "engine/engine_thread.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "chat/answer_grammar.h"
#include "decode/sequence_breakers.h"
#include "engine/testing/plain_copy.h"
#include "simulator/fake_executor.h"
#include "text/blank_tokenizer.h"

namespace millrace::engine {
namespace {

class EngineThreadTest : public testing::Test {
 protected:
  std::unique_ptr<EngineThread> start(const ThreadConfig& config = {}, Env& env = Env::system()) {
    auto executor =
        std::make_unique<simulator::FakeExecutor>(simulator::FakeExecutor::Config{.pages = 512},
                                                  [this](const engine::StepInput&, std::span<float>) -> Result<void> {
                                                    if (broken) throw std::runtime_error("broken on purpose");
                                                    std::this_thread::sleep_for(step_time);
                                                    return {};
                                                  });
    Config settings;
    settings.scheduling.max_sequences = 32;
    const auto tokenizer = text::blank_tokenizer(61);
    auto engine = Engine::create(std::move(executor), tokenizer, Env::system(), settings).or_throw();
    return std::make_unique<EngineThread>(std::move(engine), tokenizer, env, config);
  }

  static Request request(std::int32_t first, std::int64_t answer) {
    Request r;
    r.tokens = {first, 1, 2, 3};
    r.sampling.temperature = 0.0;
    r.sampling.max_tokens = answer;
    return r;
  }
  static std::vector<std::int32_t> read(TokenStream& stream, FinishReason* finish = nullptr) {
    std::vector<std::int32_t> tokens;
    for (;;) {
      const Output output = stream.pop();
      if (output.token) tokens.push_back(*output.token);
      if (finish != nullptr) *finish = output.finish;
      if (output.last) return tokens;
    }
  }
  static std::int64_t used_pages(EngineThread& engine) {
    return engine.call([](Engine& e) { return e.cache().use().used; });
  }

  std::atomic<bool> broken = false;
  std::chrono::microseconds step_time{0};
};

TEST_F(EngineThreadTest, ServesManyThreadsAndEachGetsItsOwnAnswer) {
  const auto engine = start();
  std::vector<std::vector<std::int32_t>> alone;
  for (std::int32_t i = 0; i < 8; ++i) alone.push_back(read(*engine->submit(request(i, 30))));
  std::vector<std::thread> clients;
  std::atomic<int> wrong = 0;
  for (int c = 0; c < 16; ++c) {
    clients.emplace_back([&, c] {
      for (std::int32_t i = 0; i < 20; ++i) {
        const std::int32_t which = (i + c) % 8;
        if (read(*engine->submit(request(which, 30))) != alone[static_cast<std::size_t>(which)]) ++wrong;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(used_pages(*engine), 0);
  EXPECT_EQ(engine->heartbeat().requests, 0);
}

// What another process would get of it is the same request.
TEST_F(EngineThreadTest, ACopyOfARequestIsAnsweredAlike) {
  const auto engine = start();
  Request asked = request(4, 20);
  chat::AnswerGrammar grammar;
  grammar.constraint = {.language = "regex", .text = "(a|b|c)*"};
  asked.grammar = std::make_shared<const chat::AnswerGrammar>(grammar);
  asked.sampling.dry_multiplier = 0.5;
  const std::string newline = "\n";
  asked.sampling.dry_sequence_breakers = decode::find_sequence_breakers({&newline, 1}, *text::blank_tokenizer(61));
  const Request copy = plain_copy(asked);
  EXPECT_NE(copy.grammar, asked.grammar);
  EXPECT_EQ(copy.grammar->key(), asked.grammar->key());
  const auto theirs = engine->submit(copy), ours = engine->submit(asked);
  for (;;) {
    const Output one = ours->pop(), other = plain_copy(theirs->pop());
    EXPECT_EQ(one.token, other.token);
    EXPECT_EQ(one.text, other.text);
    EXPECT_EQ(one.finish, other.finish);
    EXPECT_EQ(one.stats.output_tokens, other.stats.output_tokens);
    ASSERT_EQ(one.last, other.last);
    if (one.last) break;
  }
}

TEST_F(EngineThreadTest, AGrammarIsCompiledBeforeItsRequestIsSubmittedOrThen) {
  const auto engine = start();
  chat::AnswerGrammar wrong, right;
  wrong.constraint = {.language = "regex", .text = "("};
  right.constraint = {.language = "json_schema", .text = R"({"type": "string"})"};
  std::atomic<bool> cancelled = false;
  EXPECT_EQ(engine->compile_grammar(wrong, 0, cancelled).error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(engine->compile_grammar(right, 0, cancelled));
  Request asked = request(4, 20);
  asked.grammar = std::make_shared<const chat::AnswerGrammar>(wrong);
  const Output only = engine->submit(asked)->pop();
  EXPECT_TRUE(only.last);
  EXPECT_EQ(only.error->code, ErrorCode::kInvalidArgument);
  cancelled = true;  // the client has gone
  right.constraint->text = R"({"type": "array", "items": {"type": "integer"}, "maxItems": 3})";
  EXPECT_EQ(engine->compile_grammar(right, 0, cancelled).error().code, ErrorCode::kCancelled);
}

TEST_F(EngineThreadTest, AReaderWhoStopsReadingHoldsBackNobodyAndLosesNothing) {
  const auto engine = start();
  const auto expected = read(*engine->submit(request(5, 600)));
  const auto slow = engine->submit(request(5, 600));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(read(*engine->submit(request(7, 100))).size(), 100u);
  EXPECT_GT(engine->heartbeat().requests, 0);  // it waits, with its pages
  EXPECT_GT(used_pages(*engine), 0);
  EXPECT_EQ(read(*slow), expected);
}

TEST_F(EngineThreadTest, AStreamThatNobodyReadsIsGivenUp) {
  const auto engine = start({.slow_reader_ms = 20.0});
  const auto stream = engine->submit(request(5, 2000));
  while (engine->heartbeat().requests == 0 || used_pages(*engine) == 0) std::this_thread::yield();
  while (used_pages(*engine) > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  FinishReason finish{};
  EXPECT_LT(read(*stream, &finish).size(), 2000u);
  EXPECT_EQ(finish, FinishReason::kCancelled);
}

TEST_F(EngineThreadTest, CancellingEndsTheStreamAndFreesItsPages) {
  step_time = std::chrono::microseconds(200);
  const auto engine = start();
  const auto stream = engine->submit(request(1, 4000));
  const Output first = stream->pop();
  EXPECT_TRUE(first.token);
  engine->cancel(stream);
  FinishReason finish{};
  read(*stream, &finish);
  EXPECT_EQ(finish, FinishReason::kCancelled);
  EXPECT_EQ(used_pages(*engine), 0);
}

TEST_F(EngineThreadTest, AWrongRequestGetsItsErrorAsTheOnlyOutput) {
  const auto engine = start();
  const Output output = engine->submit(request(61, 1))->pop();
  EXPECT_TRUE(output.last);
  ASSERT_TRUE(output.error);
  EXPECT_EQ(output.error->param, "prompt");
}

TEST_F(EngineThreadTest, DrainingFinishesWhatRunsAndTakesNothingNew) {
  step_time = std::chrono::microseconds(100);
  const auto engine = start();
  const auto stream = engine->submit(request(1, 100));
  std::thread drainer([&] { engine->drain(60'000.0); });
  FinishReason finish{};
  EXPECT_EQ(read(*stream, &finish).size(), 100u);
  EXPECT_EQ(finish, FinishReason::kLength);
  drainer.join();
  EXPECT_EQ(engine->submit(request(1, 1))->pop().error->code, ErrorCode::kUnavailable);
}

TEST_F(EngineThreadTest, ADrainThatTakesTooLongCancelsTheRest) {
  step_time = std::chrono::microseconds(1000);
  const auto engine = start();
  const auto stream = engine->submit(request(1, 3000));
  (void)stream->pop();
  engine->drain(5.0);
  FinishReason finish{};
  read(*stream, &finish);
  EXPECT_EQ(finish, FinishReason::kCancelled);
}

TEST_F(EngineThreadTest, AFailedEngineEndsEveryStreamAndSaysSo) {
  step_time = std::chrono::microseconds(200);
  const auto engine = start();
  const auto stream = engine->submit(request(1, 3000));
  (void)stream->pop();
  broken = true;
  FinishReason finish{};
  read(*stream, &finish);
  EXPECT_EQ(finish, FinishReason::kError);
  EXPECT_FALSE(engine->heartbeat().alive);
  EXPECT_EQ(engine->submit(request(1, 1))->pop().error->code, ErrorCode::kInternal);
}

TEST_F(EngineThreadTest, BringsPagesTogetherBeforeItSleeps) {
  const auto engine = start();
  read(*engine->submit(request(1, 40)));
  while (engine->heartbeat().busy) std::this_thread::yield();
  EXPECT_FALSE(engine->call([](Engine& e) { return e.next_event().has_value(); }));
}

// A clock that the test moves; whoever asks it for the time has a look at the engine first.
class LookingClock final : public Env {
 public:
  TimePoint now() const override {
    static thread_local bool looking = false;
    if (const EngineThread* engine = watched; engine != nullptr && !looking) {
      looking = true;
      const double age = engine->heartbeat().last_step_age_ms;
      looking = false;
      for (double most = oldest_ms; age > most && !oldest_ms.compare_exchange_weak(most, age);) {
      }
    }
    return TimePoint{} + std::chrono::milliseconds(ms.load());
  }
  std::uint64_t random_seed() override { return 1; }
  Result<std::unique_ptr<RandomAccessFile>> open(const std::string&) override { return Error{}; }
  std::vector<std::string> list(const std::string&) override { return {}; }

  std::atomic<const EngineThread*> watched = nullptr;
  std::atomic<std::int64_t> ms = 1;
  mutable std::atomic<double> oldest_ms = 0.0;  // step that anybody saw
};

TEST_F(EngineThreadTest, TheTimeItSleptIsNeverTakenForThatOfAStep) {
  LookingClock clock;
  const auto engine = start({}, clock);
  clock.watched = engine.get();
  for (int round = 0; round < 20; ++round) {
    read(*engine->submit(request(1, 2)));
    engine->call([](Engine&) { return true; });  // behind what the end of a stream tells it
    while (engine->heartbeat().busy) std::this_thread::yield();
    clock.ms += 3'600'000;
  }
  clock.watched = nullptr;
  EXPECT_LT(clock.oldest_ms, 3'600'000.0);
}

TEST_F(EngineThreadTest, EndsAtWhateverMomentItIsTold) {
  for (int i = 0; i < 400; ++i) {
    const auto engine = start();
    for (int spin = 0; spin < i % 100 * 500; ++spin) std::atomic_signal_fence(std::memory_order_seq_cst);
  }
}

}  // namespace
}  // namespace millrace::engine
