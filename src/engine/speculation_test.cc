// Speculation changes how many steps an answer takes, never the answer (law 3).

#include "engine/testing/speculation_fixture.h"

#include "backend/cpu/kv_layout.h"

namespace millrace::engine {
namespace {

// Each look at it takes a millisecond.
class TickingClock final : public Env {
 public:
  TimePoint now() const override { return TimePoint{std::chrono::milliseconds(++milliseconds_)}; }
  std::uint64_t random_seed() override { return 7; }
  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) override { return Env::system().open(path); }
  std::vector<std::string> list(const std::string& directory) override { return Env::system().list(directory); }
  void pass(std::int64_t milliseconds) { milliseconds_ += milliseconds; }

 private:
  mutable std::int64_t milliseconds_ = 0;
};

// A drafting model that is hardly ever right, for so much time a call. Remembers how far an answer was when it was
// asked last.
class CostlyFool final : public draft::Drafter {
 public:
  CostlyFool(TickingClock& clock, std::int64_t milliseconds, std::int64_t& asked_last)
      : clock_(clock), milliseconds_(milliseconds), asked_last_(asked_last) {}
  bool computes() const noexcept override { return true; }
  void draft(std::span<draft::Task> tasks) override {
    clock_.pass(milliseconds_);
    for (draft::Task& task : tasks) {
      asked_last_ = std::max(asked_last_, std::ssize(task.tokens) - task.prompt_tokens);
      task.drafts.assign(static_cast<std::size_t>(task.most), {.token = 0, .confidence = 0.9f});
    }
  }

 private:
  TickingClock& clock_;
  std::int64_t milliseconds_, &asked_last_;
};

TEST_F(SpeculationTest, GivesTheSameTokensGreedyAndSampledHoweverOftenItIsRight) {
  for (const unsigned right : {0u, 50u, 90u, 100u}) {
    SCOPED_TRACE(right);
    Mix mix;
    for (unsigned i = 0; i < 6; ++i) mix.requests.push_back(request(5 + 23 * i, i, 40));
    const std::int64_t accepted = expect_same(mix, right);
    if (right >= 90) {
      EXPECT_GT(accepted, 6 * 20);
    }
  }
}

TEST_F(SpeculationTest, GivesTheSameScoresAndOtherAnswersToTheSamePrompt) {
  Mix mix;
  for (unsigned i = 0; i < 4; ++i) {
    mix.requests.push_back(request(9 + 31 * i, i, 24));
    mix.requests.back().sampling.logprobs = 3;
    mix.requests.back().n = 1 + static_cast<int>(i % 3);
    mix.requests.back().sampling.frequency_penalty = i % 2 == 0 ? 0.5 : 0.0;
    mix.requests.back().sampling.repetition_penalty = 1.1;
  }
  mix.requests[1].prompt_logprobs = 2;
  expect_same(mix, 90);
}

TEST_F(SpeculationTest, GivesTheSameOverEveryKindOfPageAndWhenPagesAreShort) {
  for (const auto& [layout, block] : {std::pair{"token", 1}, {"vector16", 16}, {"paged32", 64}}) {
    for (const std::string_view encoding : {"bf16", "int8"}) {
      SCOPED_TRACE(block);
      Mix mix;
      mix.pages = backend::cpu::choose_pages(encoding, layout, block).or_throw();
      mix.kv_tokens = 320;
      mix.budget = 40;
      for (unsigned i = 0; i < 8; ++i) mix.requests.push_back(request(20 + 11 * i, i, 60));
      expect_same(mix, 85);
    }
  }
}

TEST_F(SpeculationTest, EndsWhereTheAnswerEndsAlsoWithinADraft) {
  Mix mix;
  for (unsigned i = 0; i < 5; ++i) {
    mix.requests.push_back(request(12 + i, i, 11 + i));  // max_tokens
  }
  const auto plain = engine_for(mix);
  std::vector<std::int32_t> ends;
  for (const auto& [key, answer] : run(*plain, mix)) ends.push_back(answer.tokens[5]);
  for (std::size_t i = 0; i < ends.size(); ++i) mix.requests[i].sampling.stop_token_ids = {ends[i]};
  expect_same(mix, 100);
}

TEST_F(SpeculationTest, IsOffWhereARequestSaysSo) {
  Mix mix;
  for (unsigned i = 0; i < 3; ++i) {
    mix.requests.push_back(request(12 + i, i, 20));
    mix.requests.back().draft_tokens = 0;
  }
  EXPECT_EQ(expect_same(mix, 0), 0);
  mix.requests[1].draft_tokens = 65;
  const auto rejected = engine_for(mix)->submit(mix.requests[1]);
  ASSERT_FALSE(rejected);
  EXPECT_EQ(rejected.error().message, "spec_tokens is 65: expected 0 to 64");
}

TEST_F(SpeculationTest, ComputesNoDraftsWhereTheyAreAlwaysWrong) {
  Mix mix;
  for (unsigned i = 0; i < 4; ++i) mix.requests.push_back(request(12 + i, i, 200));
  const auto engine = engine_for(mix);
  Oracle::Answers known;
  for (const Request& request : mix.requests) known[request.tokens] = {};
  engine->speculate(std::make_unique<Oracle>(known, 0), SpeculationConfig{8, true});
  run(*engine, mix);
  EXPECT_LT(engine->counters().drafted_tokens, 1600);  // of 6,400; how many are worth trying is the machine's
}

TEST_F(SpeculationTest, AsksAModelThatFailsAgainOnlyWhereThatIsCheap) {
  for (const bool cheap : {true, false}) {
    TickingClock clock;
    std::int64_t asked_last = 0;
    const auto engine = make({}, 4096, {}, nullptr, clock);
    engine->speculate(std::make_unique<CostlyFool>(clock, cheap ? 1 : 1000, asked_last), SpeculationConfig{8, true});
    Mix mix;
    for (unsigned i = 0; i < 4; ++i) mix.requests.push_back(request(12 + i, i, 300));
    run(*engine, mix);
    if (cheap) {
      EXPECT_GT(asked_last, 150);
    } else {
      EXPECT_LT(asked_last, 90);
    }
  }
}

TEST_F(SpeculationTest, WithTheModelItselfAsDraftModelEveryGuessIsRight) {
  for (const auto& [layout, block] : {std::pair{"token", 1}, {"paged32", 32}}) {
    Mix mix;
    mix.pages = backend::cpu::choose_pages("bf16", layout, block).or_throw();
    for (unsigned i = 0; i < 6; ++i) mix.requests.push_back(request(5 + 60 * i, i, 40));
    mix.requests[2].n = 3;
    mix.requests[3].tokens = mix.requests[4].tokens;
    const auto plain = engine_for(mix);
    const auto expected = run(*plain, mix);
    const auto engine = engine_for(mix);
    engine->speculate(drafter("draft-model", mix.pages), SpeculationConfig{6, false});
    const auto answers = run(*engine, mix);
    for (const auto& [key, answer] : expected) EXPECT_EQ(answers.at(key).tokens, answer.tokens);
    EXPECT_GT(engine->counters().accepted_tokens, 150);
    EXPECT_EQ(engine->counters().accepted_tokens, engine->counters().drafted_tokens);
  }
}

TEST_F(SpeculationTest, WithItsOwnFirstLayersDraftsAndChangesNothing) {
  Mix mix;
  mix.budget = 60;
  mix.kv_tokens = 640;
  for (unsigned i = 0; i < 6; ++i) mix.requests.push_back(request(5 + 40 * i, i, 60));
  const auto plain = engine_for(mix);
  const auto expected = run(*plain, mix);
  for (const char* method : {"early-exit", "draft-model"}) {
    const auto engine = engine_for(mix);
    engine->speculate(drafter(method, mix.pages), SpeculationConfig{6, false});
    const auto answers = run(*engine, mix);
    for (const auto& [key, answer] : expected) EXPECT_EQ(answers.at(key).tokens, answer.tokens) << method;
    EXPECT_GT(engine->counters().drafted_tokens, 50) << method;
    EXPECT_GT(engine->counters().accepted_tokens, 0) << method;
  }
}

TEST_F(SpeculationTest, GivesTheSameGreedyTokensByEveryRule) {
  for (const decode::VerificationRule& rule : decode::all_verification_rules()) {
    SCOPED_TRACE(rule.name);
    Mix mix;
    for (unsigned i = 0; i < 5; ++i) mix.requests.push_back(request(5 + 30 * i, 2 * i, 40));
    const auto expected = run(*engine_for(mix), mix);
    for (const char* method : {"ngram", "early-exit", "draft-model"}) {
      const auto engine = engine_for(mix);
      engine->speculate(drafter(method, mix.pages), SpeculationConfig{6, false, &rule});
      const auto answers = run(*engine, mix);
      for (const auto& [key, answer] : expected) EXPECT_EQ(answers.at(key).tokens, answer.tokens) << method;
    }
  }
}

TEST_F(SpeculationTest, TakesEveryGuessOfTheSameModelByEveryRule) {
  for (const decode::VerificationRule& rule : decode::all_verification_rules()) {
    Mix mix;
    for (unsigned i = 0; i < 6; ++i) {
      mix.requests.push_back(request(5 + 30 * i, i, 40));
      mix.requests.back().sampling.temperature = 1.0;
    }
    const auto engine = engine_for(mix);
    engine->speculate(drafter("draft-model", mix.pages), SpeculationConfig{6, false, &rule});
    run(*engine, mix);
    EXPECT_GT(engine->counters().drafted_tokens, 120) << rule.name;
    EXPECT_EQ(engine->counters().accepted_tokens, engine->counters().drafted_tokens) << rule.name;
  }
}

TEST_F(SpeculationTest, KeepsASessionsPagesRight) {
  const auto plain = make(), engine = make();
  engine->speculate(draft::make_drafter("ngram").or_throw(), SpeculationConfig{8, false});
  std::vector<std::vector<std::int32_t>> answers[2];
  for (int i = 0; i < 2; ++i) {
    Engine& one = i == 0 ? *plain : *engine;
    const SessionId session = one.sessions().open();
    for (unsigned round = 0; round < 4; ++round) {
      Request r = request(round == 0 ? 40 : 6, round, 30);
      r.sampling.temperature = 0.0;
      r.session = session;
      r.append_to_session = round > 0;
      one.submit(r).or_throw();
      answers[i].push_back(drain(one).begin()->second.tokens);
    }
  }
  EXPECT_EQ(answers[0], answers[1]);
  EXPECT_GT(engine->counters().drafted_tokens, 0);
}

}  // namespace
}  // namespace millrace::engine
