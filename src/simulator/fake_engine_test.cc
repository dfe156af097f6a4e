// The engine on the fake model: whatever it does with pages, every answer is the reference's.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>

#include "base/memory_env.h"
#include "engine/engine.h"
#include "simulator/fake_executor.h"
#include "simulator/letter_tokenizer.h"
#include "simulator/reference.h"

namespace millrace::simulator {
namespace {

using engine::Engine;
using engine::FinishReason;
using engine::Output;
using engine::Request;

// The tokens of an answer when nobody else is there.
std::vector<std::int32_t> alone(const Request& request, int choice, std::int64_t limit) {
  decode::SamplingParams sampling = request.sampling;
  sampling.seed += static_cast<std::uint64_t>(choice);
  Reference reference(request.tokens, sampling, limit);
  std::vector<std::int32_t> tokens;
  while (const auto token = reference.next()) tokens.push_back(*token);
  return tokens;
}

struct Case {
  FakeExecutor::Config executor;
  engine::Config engine;
};

class FakeEngine : public testing::TestWithParam<int> {
 protected:
  void start(const Case& setup) {
    setup_ = setup;
    auto executor = std::make_unique<FakeExecutor>(
        setup.executor, [this](const engine::StepInput&, std::span<float> logits) -> Result<void> {
          env_.time += std::chrono::milliseconds(5);
          if (failing_) return make_error(ErrorCode::kInternal, "", "broken");
          if (no_numbers_) std::ranges::fill(logits, std::numeric_limits<float>::quiet_NaN());
          return {};
        });
    engine_ = Engine::create(std::move(executor), letter_tokenizer(), env_, setup.engine).or_throw();
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
        const auto expected = alone(requests.at(output.request), output.choice, engine_->limits().max_length);
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
    EXPECT_EQ(engine_->cache().use().used, 0);
  }

  Case setup_;
  bool failing_ = false, no_numbers_ = false;
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

// One layer of six without a window: what is in use is little more than what the masks see, while a prompt is read and
// while its answer is written.
TEST_P(FakeEngineFixed, WindowsHoldLittleMoreThanWhatTheMasksSee) {
  constexpr std::int64_t kWindow = 1024, kPrompt = 32'000;
  start({.executor = {.max_length = 40'000, .block_tokens = 32, .pages = 1250, .window = kWindow, .window_pages = 120},
         .engine = {}});
  engine_->submit(plain(static_cast<std::size_t>(kPrompt), 200)).or_throw();
  double highest = 0.0;
  while (!engine_->idle()) {
    engine_->step();
    if (engine_->scheduler().running().empty()) break;
    const sched::Sequence& sequence = *engine_->scheduler().running().front();
    const kv::CacheUse use = engine_->cache().use();
    const double seen = static_cast<double>(sequence.computed + 5 * std::min(sequence.computed, kWindow));
    const double held = 32.0 * static_cast<double>(use.used + 5 * use.window_used);
    if (sequence.computed >= kPrompt) highest = std::max(highest, held / seen);
    EXPECT_LE(use.window_used, (kWindow + 512) / 32 + 3);
  }
  RecordProperty("held_of_seen", fmt::format("{:.3f}", highest));
  EXPECT_GT(highest, 1.0);
  EXPECT_LE(highest, 1.1);
}

// A further step has the sequence, so that it cannot end yet.
TEST_P(FakeEngineFixed, WhatARowWithoutNumbersPublishedIsNotFoundWhileItsSequenceEnds) {
  Case c;
  c.executor.block_tokens = 8;
  c.executor.depth = 2;
  start(c);
  const Request asked = plain(40, 5);
  engine_->submit(asked).or_throw();
  no_numbers_ = true;
  EXPECT_TRUE(engine_->step().empty());
  no_numbers_ = false;
  const auto id = engine_->submit(asked).or_throw();
  std::vector<std::int32_t> tokens;
  for (const Output& output : until_idle()) {
    if (output.request == id && output.token) tokens.push_back(*output.token);
  }
  EXPECT_EQ(tokens, alone(asked, 0, 4096));
}

// Slow readers hold no window pages, and yet nobody else fits beside what their windows may take.
TEST_P(FakeEngineFixed, SlowReadersWithoutWindowPagesGiveWay) {
  Case c;
  c.executor = {.block_tokens = 1, .pages = 200, .window = 1, .window_pages = 3};
  start(c);
  const auto slow = engine_->submit(plain(20, 5)).or_throw();
  while (engine_->counters().output_tokens < 2) engine_->step();
  engine_->pause(slow, true);
  const auto next = engine_->submit(plain(21, 5)).or_throw();
  bool ended = false;
  for (int step = 0; step < 100 && !ended; ++step) {
    for (const Output& output : engine_->step()) ended = ended || (output.request == next && output.last);
  }
  EXPECT_TRUE(ended);
  engine_->pause(slow, false);
  until_idle();
}

TEST_P(FakeEngineFixed, ASessionMayGoOnUnderAnotherSalt) {
  start({});
  const auto session = engine_->sessions().open();
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
  held.session = engine_->sessions().open();
  engine_->submit(held).or_throw();
  until_idle();
  engine_->submit(plain(30, 100)).or_throw();
  EXPECT_EQ(until_idle().size(), 100u);
}

TEST_P(FakeEngineFixed, ReadersPreemptedTooOftenKeepNobodyFromBeingServed) {
  Case c;
  c.engine.scheduling.max_sequences = 1;
  c.engine.scheduling.max_preemptions = 1;
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

TEST_P(FakeEngineFixed, IdleSessionsAreBroughtTogetherAndGoOnAsIfTheyHadNotBeen) {
  Case c;
  c.executor.pages = GetParam() == 0 ? 40 : 31;  // what is cached keeps its place
  c.engine.prefix_caching = GetParam() == 0;
  start(c);
  constexpr int kSessions = 10;
  std::vector<engine::SessionId> sessions;
  std::map<engine::RequestId, int> whose;
  std::vector<std::vector<std::int32_t>> said(kSessions);
  const auto ask = [&](int i, std::size_t n) {
    Request r = plain(n, 30);
    r.tokens[0] = i + 1;
    r.session = sessions[static_cast<std::size_t>(i)];
    r.append_to_session = true;
    auto& text = said[static_cast<std::size_t>(i)];
    text.insert(text.end(), r.tokens.begin(), r.tokens.end());
    whose[engine_->submit(r).or_throw()] = i;
  };
  const auto hear = [&] {
    for (const Output& output : until_idle()) {
      if (output.token) said[static_cast<std::size_t>(whose.at(output.request))].push_back(*output.token);
    }
  };
  for (int i = 0; i < kSessions; ++i) {
    sessions.push_back(engine_->sessions().open());
    ask(i, 16);
  }
  hear();
  for (int i = 0; i < kSessions; i += 2) engine_->sessions().close(sessions[static_cast<std::size_t>(i)]);
  int calls = 0;
  for (; engine_->next_event() && calls < 100; ++calls) {
    EXPECT_TRUE(engine_->step().empty());
    engine_->check_integrity();
  }
  EXPECT_LT(calls, 100);
  EXPECT_GT(engine_->cache().counters().moved_pages, 0);
  EXPECT_TRUE(engine_->step().empty());
  EXPECT_FALSE(engine_->next_event());
  for (int i = 1; i < kSessions; i += 2) {
    ask(i, 5);
    Request whole = plain(1, 30);
    whole.tokens = said[static_cast<std::size_t>(i)];
    hear();
    const auto expected = alone(whole, 0, engine_->limits().max_length);
    const auto& heard = said[static_cast<std::size_t>(i)];
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), heard.end() - 30, heard.end())) << i;
  }
}

// The row whose logits nobody looks at any more was no numbers, and what it wrote is wrong too (seeds 15815, 48768).
TEST_P(FakeEngineFixed, NobodyFindsWhatARowOfNoNumbersWroteForACancelledRequest) {
  Case c;
  c.executor.depth = 2;
  c.engine.scheduling.max_batched_tokens = 10;
  start(c);
  const auto id = engine_->submit(plain(20, 5)).or_throw();
  static_cast<void>(engine_->step());  // the second half of the prompt is in flight
  engine_->cancel(id);
  no_numbers_ = true;
  const auto ended = engine_->step();
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].finish, FinishReason::kCancelled);
  no_numbers_ = false;
  const Request again = plain(25, 5);
  engine_->submit(again).or_throw();
  std::vector<std::int32_t> tokens;
  for (const Output& output : until_idle()) tokens.push_back(output.token.value());
  EXPECT_EQ(tokens, alone(again, 0, engine_->limits().max_length));
}

// One that joins goes on with the pages of one that is preempted for a third, which was counted on having them (8975).
TEST_P(FakeEngineFixed, ASequenceWhosePagesCannotComeBackFromSwapSpaceIsComputedAgain) {
  Case c;
  c.executor.pages = 10;
  c.engine.policy = "priority";
  c.engine.swap_bytes = 1 << 16;
  c.engine.preemption = engine::Preemption::kSwap;
  start(c);
  std::map<engine::RequestId, Request> asked;
  const auto ask = [&](std::size_t prompt, std::int64_t answer, int priority, std::int32_t first) {
    Request r = plain(prompt, answer);
    r.tokens[0] = first;
    r.priority = priority;
    const auto id = engine_->submit(r).or_throw();
    asked.emplace(id, r);
    return id;
  };
  std::map<engine::RequestId, std::vector<std::int32_t>> heard;
  const auto step = [&] {
    for (const Output& output : engine_->step()) heard[output.request].push_back(output.token.value());
    engine_->check_integrity();
  };
  ask(4, 12, 0, 1);
  const auto swapped = ask(70, 10, 1, 2);
  step();
  engine_->pause(swapped, true);
  ask(80, 30, 9, 3);
  step();
  ASSERT_EQ(engine_->counters().swaps, 1);
  engine_->pause(swapped, false);
  ask(81, 2, 0, 3);
  step();
  EXPECT_EQ(engine_->counters().swaps, 2);
  EXPECT_EQ(engine_->cache().counters().swapped_in_pages, 0);
  EXPECT_EQ(engine_->scheduler().running().size(), 3u);  // it is one of them
  while (!engine_->idle()) step();
  for (const auto& [id, request] : asked) EXPECT_EQ(heard[id], alone(request, 0, engine_->limits().max_length)) << id;
}

TEST_P(FakeEngineFixed, ARefusedRequestLeavesWhatOthersHavePublished) {
  Case c;
  c.engine.policy = "slo";
  c.engine.policy_options.values.set("reject_late", 1.0);
  start(c);
  Request r = plain(40, 2);
  engine_->submit(r).or_throw();
  until_idle();
  Request late = r;
  late.ttft_target_ms = 1e-6;
  engine_->submit(late).or_throw();
  const auto rejected = until_idle();
  ASSERT_EQ(rejected.size(), 1u);
  EXPECT_EQ(rejected[0].error.value().param, "ttft_target_ms");
  engine_->submit(r).or_throw();
  EXPECT_EQ(until_idle().back().stats.cached_tokens, 39);
}

// It lacks but the page of its next token, so those of an idle session are needed.
TEST_P(FakeEngineFixed, ASwappedSequenceThatFillsItsPagesGetsAnIdleSessionsPage) {
  Case c;
  c.executor.pages = 10;
  c.engine.scheduling.max_sequences = 1;
  c.engine.prefix_caching = false;
  c.engine.swap_bytes = 1 << 16;
  c.engine.preemption = engine::Preemption::kSwap;
  start(c);
  const auto slow = engine_->submit(plain(50, 20)).or_throw();
  for (int i = 0; i < 14; ++i) static_cast<void>(engine_->step());  // 64 tokens: four pages
  engine_->pause(slow, true);
  Request held = plain(80, 2);
  held.session = engine_->sessions().open();
  engine_->submit(held).or_throw();
  for (int i = 0; i < 3; ++i) static_cast<void>(engine_->step());
  ASSERT_EQ(engine_->counters().swaps, 1);
  engine_->pause(slow, false);
  EXPECT_EQ(until_idle().size(), 6u);
}

// A batch begins together, so one may be preempted before it had a token, and a page.
TEST_P(FakeEngineFixed, OneThatHoldsNothingIsNotSwappedOut) {
  Case c;
  c.executor.block_tokens = 1;
  c.executor.pages = 38;
  c.engine.scheduling.max_batched_tokens = 4;
  c.engine.scheduling.batching = sched::BatchingMode::kDynamic;
  c.engine.scheduling.batch_wait_ms = 0.0;
  c.engine.policy = "fcfs";
  c.engine.swap_bytes = 1 << 16;
  c.engine.preemption = engine::Preemption::kSwap;
  start(c);
  Request grows = plain(4, 30);
  grows.expected_tokens = 1;
  Request waits = plain(2, 2);
  waits.tokens[0] = 60;
  Request fills = plain(28, 1);
  fills.tokens[0] = 59;
  for (const Request& request : {grows, fills, waits}) engine_->submit(request).or_throw();
  while (engine_->counters().preemptions == 0 && !engine_->idle()) static_cast<void>(engine_->step());
  EXPECT_EQ(engine_->counters().preemptions, 1);
  EXPECT_EQ(engine_->counters().swaps, 0);
  until_idle();
}

INSTANTIATE_TEST_SUITE_P(Once, FakeEngineFixed, testing::Values(0, 1));

INSTANTIATE_TEST_SUITE_P(Seeds, FakeEngine, testing::Range(0, 200));

}  // namespace
}  // namespace millrace::simulator
