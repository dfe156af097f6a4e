// A device that fails and loses all pages: what runs is computed again, with the same results.

#include <set>

#include "engine/testing/engine_fixture.h"
#include "engine/testing/failing_executor.h"

namespace millrace::engine {
namespace {

// Has no page, and counts how often it is to have none.
class EmptyDisk final : public kv::DiskTier {
 public:
  explicit EmptyDisk(const kv::PageOrigin& origin) : origin_(origin) {}
  const kv::PageOrigin& origin() const noexcept override { return origin_; }
  bool writing() const override { return true; }
  bool contains(const kv::PageKey&) const override { return false; }
  void put(const kv::PageKey&, std::span<const std::byte>) override {}
  bool get(const kv::PageKey&, std::span<std::byte>) override { return false; }
  void remove(const kv::PageKey&) override {}
  void clear() override { ++cleared; }
  double load_ms_per_page() const override { return 0.0; }
  kv::DiskTierUse use() const override { return {}; }

  int cleared = 0;

 private:
  kv::PageOrigin origin_;
};

class RecoveryTest : public EngineTest {
 protected:
  std::unique_ptr<Engine> engine_that_fails(std::set<int> failing, bool recovers = true) {
    Config config;
    config.scheduling.max_batched_tokens = 48;
    config.scheduling.max_sequences = 16;
    config.side_by_side_logits = 0;
    config.swap_bytes = std::size_t{1} << 24;
    auto executor = std::make_unique<FailingExecutor>(
        LocalExecutor::create(transformer_, *backend_, {}, 4096).or_throw(), std::move(failing), recovers);
    failing_ = executor.get();
    return Engine::create(std::move(executor), tokenizer_, Env::system(), config, nullptr).or_throw();
  }
  // Of so few pages that sequences are swapped out.
  std::unique_ptr<Engine> engine_that_swaps() {
    Config config;
    config.scheduling.max_batched_tokens = 48;
    config.scheduling.max_sequences = 16;
    config.preemption = Preemption::kSwap;
    config.swap_bytes = std::size_t{1} << 24;
    auto local = LocalExecutor::create(transformer_, *backend_, {}, 256).or_throw();
    disk_ = std::make_unique<EmptyDisk>(
        kv::PageOrigin{.page_bytes = local->store().page_bytes(), .block_tokens = local->block_tokens()});
    auto executor = std::make_unique<FailingExecutor>(std::move(local), std::set<int>{});
    failing_ = executor.get();
    return Engine::create(std::move(executor), tokenizer_, Env::system(), config, disk_.get()).or_throw();
  }
  std::vector<Request> requests() {
    std::vector<Request> all;
    for (unsigned i = 0; i < 6; ++i) all.push_back(request(5 + 31 * i, i / 2));  // some begin alike
    all[2].n = 2;
    all[3].sampling.logprobs = 2;
    return all;
  }
  // The answers in the order of requests and choices.
  static std::vector<std::vector<std::int32_t>> answers(Engine& engine, const std::vector<Request>& asked) {
    std::map<std::pair<RequestId, int>, std::vector<std::int32_t>> tokens;
    for (const Request& one : asked) engine.submit(one).or_throw();
    while (!engine.idle()) {
      for (const Output& output : engine.step()) {
        EXPECT_NE(output.finish, FinishReason::kError);
        if (output.token) tokens[{output.request, output.choice}].push_back(*output.token);
      }
    }
    std::vector<std::vector<std::int32_t>> all;
    for (auto& [of, list] : tokens) all.push_back(std::move(list));
    return all;
  }
  FailingExecutor* failing_ = nullptr;
  std::unique_ptr<EmptyDisk> disk_;
};

TEST_F(RecoveryTest, WhatRunsIsComputedAgain) {
  const auto expected = answers(*engine_that_fails({}), requests());
  ASSERT_EQ(expected.size(), 7u);
  for (const std::set<int>& failing : {std::set<int>{1}, {2, 3}, {4, 9, 10, 11, 30}}) {
    const auto engine = engine_that_fails(failing);
    EXPECT_EQ(answers(*engine, requests()), expected);
    EXPECT_EQ(failing_->recoveries(), static_cast<int>(failing.size()));
    EXPECT_EQ(engine->counters().failed_steps, static_cast<std::int64_t>(failing.size()));
    engine->check_integrity();
  }
}

// Else they would be left out of what admission thinks that the sequence holds.
TEST_F(RecoveryTest, PagesThatAreLostAreNoLongerAttached) {
  const auto engine = engine_that_fails({});
  answers(*engine, {request(100, 1)});
  engine->submit(request(100, 1)).or_throw();
  static_cast<void>(engine->step());
  ASSERT_EQ(engine->scheduler().running().size(), 1u);
  EXPECT_GT(engine->scheduler().running().front()->attached_pages, 0);
  failing_->fail_next("rank");
  static_cast<void>(engine->step());
  ASSERT_EQ(failing_->recoveries(), 1);
  ASSERT_EQ(engine->scheduler().running().size(), 1u);
  EXPECT_EQ(engine->scheduler().running().front()->attached_pages, 0);
}

// Published pages, and those of a session.
TEST_F(RecoveryTest, NothingThatIdlesIsFoundAgain) {
  const auto rounds = [&](const std::set<int>& failing) {
    const auto engine = engine_that_fails(failing);
    const SessionId session = engine->sessions().open();
    std::vector<std::vector<std::int32_t>> all;
    std::vector<std::int32_t> said = random_tokens(70, 4);
    for (int round = 0; round < 3; ++round) {
      Request next = request(0, 2);
      next.tokens = said;
      next.session = session;
      next.append_to_session = round > 0;
      // The other request goes on when the session idles.
      for (auto& answer : answers(*engine, {next, request(90, 3, 45)})) all.push_back(std::move(answer));
      said = random_tokens(5, static_cast<unsigned>(10 + round));
    }
    return all;
  };
  const auto expected = rounds({});
  for (const int step : {5, 24, 35, 46, 50, 85}) EXPECT_EQ(rounds({step}), expected) << step;
}

TEST_F(RecoveryTest, RequestsThatFailAgainAndAgainEndByName) {
  std::set<int> first_six;
  for (int step = 1; step <= 6; ++step) first_six.insert(step);
  const auto engine = engine_that_fails(first_six);
  engine->submit(request(20, 1)).or_throw();
  const auto failed = drain(*engine);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed.begin()->second.last.finish, FinishReason::kError);
  EXPECT_NE(failed.begin()->second.last.error->message.find("rank 1 has ended"), std::string::npos);
  EXPECT_EQ(answers(*engine, {request(20, 1)}),
            answers(*engine_that_fails({}), {request(20, 1)}));  // later ones do not
}

TEST_F(RecoveryTest, RequestsEndWhereTheDeviceDoesNotComeBack) {
  const auto engine = engine_that_fails({3}, false);
  for (const Request& one : requests()) engine->submit(one).or_throw();
  for (const auto& [id, answer] : drain(*engine)) {
    EXPECT_TRUE(answer.last.finish == FinishReason::kError || answer.last.finish == FinishReason::kLength);
  }
  engine->check_integrity();
}

// What may have been computed with damaged weights is kept nowhere, and else all that is outside the device.
TEST_F(RecoveryTest, WhatDamagedWeightsMadeIsForgotten) {
  std::vector<Request> asked;
  for (unsigned i = 0; i < 6; ++i) asked.push_back(request(20 + i, i, 60));  // all begin, and grow
  const auto expected = answers(*engine_that_fails({}), asked);
  for (const bool damaged : {false, true}) {
    const auto engine = engine_that_swaps();
    const auto away = [&] {
      return engine->cache().counters().swapped_out_pages - engine->cache().counters().swapped_in_pages;
    };
    std::map<std::pair<RequestId, int>, std::vector<std::int32_t>> tokens;
    for (const Request& one : asked) engine->submit(one).or_throw();
    std::int64_t lost = 0;
    while (!engine->idle()) {
      if (lost == 0 && away() > 0) {
        lost = away();
        failing_->fail_next(damaged ? model::kDamage : "rank");
      }
      for (const Output& output : engine->step()) {
        if (output.token) tokens[{output.request, output.choice}].push_back(*output.token);
      }
    }
    ASSERT_GT(lost, 0);
    EXPECT_EQ(away(), damaged ? lost : 0);
    EXPECT_EQ(disk_->cleared, damaged ? 1 : 0);
    std::vector<std::vector<std::int32_t>> all;
    for (auto& [of, list] : tokens) all.push_back(std::move(list));
    EXPECT_EQ(all, expected);
    engine->check_integrity();
  }
}

TEST_F(RecoveryTest, NothingIsComputedOnWithDamagedWeights) {
  const auto engine = engine_that_swaps();
  engine->submit(request(20, 1)).or_throw();
  engine->step();
  failing_->damage_own_weights();
  EXPECT_THROW(engine->step(), model::DamagedWeights);
  EXPECT_EQ(disk_->cleared, 1);
}

// Wherever the step is in the search: beams that have scores wait with pages that are lost too.
TEST_F(RecoveryTest, BeamsGoOnWhereTheyWere) {
  Request beams = request(100, 1);
  beams.n = 2;
  beams.beams.emplace();
  beams.beams->width = 4;
  beams.beams->groups = 2;
  beams.beams->diversity_penalty = 0.5;
  beams.sampling.logprobs = 2;
  const std::vector<Request> asked{beams, request(40, 2), request(150, 3)};
  const auto whole = engine_that_fails({});
  const auto expected = answers(*whole, asked);
  ASSERT_EQ(expected.size(), 4u);
  const auto steps = static_cast<int>(whole->counters().steps);
  for (int step = 1; step <= steps; ++step) {
    const auto engine = engine_that_fails({step, step + 3});
    ASSERT_EQ(answers(*engine, asked), expected) << step;
    ASSERT_GE(failing_->recoveries(), 1);
    engine->check_integrity();
  }
}

}  // namespace
}  // namespace millrace::engine
