// Two engines on the same processors, each with its thread, taking turns.

#include <gtest/gtest.h>

#include <thread>

#include "engine/engine_thread.h"
#include "engine/turn_executor.h"
#include "simulator/fake_executor.h"
#include "text/blank_tokenizer.h"

namespace millrace::engine {
namespace {

class SharedProcessors : public testing::Test {
 protected:
  struct Model {
    const TurnArbiter::Member* turns = nullptr;
    std::unique_ptr<EngineThread> engine;
  };
  Model start() {
    auto fake = std::make_unique<simulator::FakeExecutor>(simulator::FakeExecutor::Config{.pages = 256},
                                                          [this](const engine::StepInput&, std::span<float>) {
                                                            if (inside_++ != 0) together_ = true;
                                                            std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                                            --inside_;
                                                            return Result<void>();
                                                          });
    auto executor = std::make_unique<TurnExecutor>(std::move(fake), turn_);
    Model model{&executor->turns(), nullptr};
    const auto tokenizer = text::blank_tokenizer(61);
    auto engine = Engine::create(std::move(executor), tokenizer, Env::system(), {}).or_throw();
    model.engine = std::make_unique<EngineThread>(std::move(engine), tokenizer, Env::system());
    return model;
  }
  static std::shared_ptr<TokenStream> ask(const Model& model, std::int64_t tokens) {
    Request request;
    request.tokens = {1, 2, 3};
    request.sampling.max_tokens = tokens;
    request.sampling.ignore_eos = true;
    return model.engine->submit(std::move(request));
  }
  static void read(TokenStream& stream) {
    while (!stream.pop().last) {
    }
  }

  std::shared_ptr<TurnArbiter> turn_ = std::make_shared<TurnArbiter>(Env::system());
  std::atomic<int> inside_ = 0;
  std::atomic<bool> together_ = false;
};

TEST_F(SharedProcessors, TwoBusyEnginesComeEquallyFarAndNeverComputeTogether) {
  const Model a = start(), b = start(), idle = start();
  const auto first = ask(a, 500), second = ask(b, 500);
  std::thread first_reader([&] { read(*first); }), second_reader([&] { read(*second); });
  while (a.turns->turns() == 0 || b.turns->turns() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::int64_t a_begin = a.turns->turns(), b_begin = b.turns->turns();
  while (a.turns->turns() - a_begin < 200 && b.turns->turns() - b_begin < 200)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_NEAR(static_cast<double>(a.turns->turns() - a_begin), static_cast<double>(b.turns->turns() - b_begin), 60.0);
  first_reader.join();
  second_reader.join();
  EXPECT_FALSE(together_);
  EXPECT_EQ(idle.turns->turns(), 0);
}

TEST_F(SharedProcessors, AnEngineAloneWaitsForNobody) {
  const Model a = start(), b = start();
  read(*ask(b, 3));
  const TimePoint begin = Env::system().now();
  read(*ask(a, 100));
  const double all = milliseconds_between(begin, Env::system().now());
  EXPECT_GE(a.turns->turns(), 100);
  EXPECT_LE(a.turns->milliseconds(), all);
}

}  // namespace
}  // namespace millrace::engine
