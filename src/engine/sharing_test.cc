// What requests share: answers to one prompt, rounds of a session, prefixes, pages of a process that has ended.

#include "base/memory_env.h"
#include "engine/testing/engine_fixture.h"

namespace millrace::engine {
namespace {

TEST_F(EngineTest, AnswersToOnePromptAreThoseOfTheirSeedsAndShareItsPages) {
  std::vector<std::vector<std::int32_t>> alone;
  for (std::uint64_t choice = 0; choice < 4; ++choice) {
    auto engine = make();
    Request r = request(75, 1);
    r.sampling.seed += choice;
    alone.push_back(drain(*engine, *engine->submit(r))[0].tokens);
  }
  auto engine = make();
  Request r = request(75, 1);
  r.n = 4;
  const auto together = drain(*engine, *engine->submit(r));
  ASSERT_EQ(together.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(together.at(static_cast<int>(i)).tokens, alone[i]) << i;
  EXPECT_EQ(engine->counters().computed_tokens, 75 + 4 * 19);  // the prompt once; an answer's last token never
  EXPECT_EQ(engine->cache().use().used, 0);
}

TEST_F(EngineTest, ASecondRequestComputesOnlyWhatTheFirstDidNot) {
  auto engine = make();
  const auto first = drain(*engine, *engine->submit(request(200, 3)))[0];
  const auto again = drain(*engine, *engine->submit(request(200, 3)))[0];
  EXPECT_EQ(again.tokens, first.tokens);
  EXPECT_EQ(again.last.stats.cached_tokens, 199);
  Request other = request(200, 3);
  other.cache_salt = "somebody else";
  const auto salted = drain(*engine, *engine->submit(other))[0];
  EXPECT_EQ(salted.tokens, first.tokens);
  EXPECT_EQ(salted.last.stats.cached_tokens, 0);
}

TEST_F(EngineTest, PreemptedByEitherKindTheAnswersAreTheSame) {
  std::vector<std::vector<std::int32_t>> alone;
  for (unsigned i = 0; i < 8; ++i) {
    auto engine = make();
    alone.push_back(drain(*engine, *engine->submit(request(40, i, 100)))[0].tokens);
  }
  for (const Preemption kind : {Preemption::kRecompute, Preemption::kSwap}) {
    Config config;
    config.preemption = kind;
    config.swap_bytes = 1 << 22;
    auto engine = make(config, 480);
    std::vector<RequestId> ids;
    for (unsigned i = 0; i < 8; ++i) {
      Request r = request(40, i, 100);
      r.expected_tokens = 1;  // a lie: so that more are admitted than can end
      ids.push_back(*engine->submit(r));
    }
    auto results = drain(*engine);
    for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(results[ids[i]].tokens, alone[i]) << i;
    EXPECT_GT(engine->counters().preemptions, 0);
    EXPECT_EQ(engine->counters().swaps > 0, kind == Preemption::kSwap);
  }
}

TEST_F(EngineTest, ASessionIsAppendedToForkedAndRolledBack) {
  const auto next = [](std::vector<std::int32_t> tokens, SessionId session) {
    Request r;
    r.tokens = std::move(tokens);
    r.sampling.temperature = 0.0;
    r.sampling.max_tokens = 10;
    r.sampling.ignore_eos = true;
    r.session = session;
    r.append_to_session = true;
    return r;
  };
  auto engine = make();
  const SessionId session = engine->sessions().open();
  const auto prompt = random_tokens(50, 1), question = random_tokens(20, 2), other = random_tokens(20, 3);
  const auto first = drain(*engine, *engine->submit(next(prompt, session)))[0];
  const SessionId fork = *engine->sessions().fork(session);
  const auto left = drain(*engine, *engine->submit(next(question, session)))[0];
  const auto right = drain(*engine, *engine->submit(next(other, fork)))[0];
  EXPECT_EQ(left.last.stats.prompt_tokens, 80);
  EXPECT_EQ(left.last.stats.cached_tokens, 59);
  EXPECT_EQ(right.last.stats.cached_tokens, 59);

  std::vector<std::int32_t> whole = prompt;
  whole.insert(whole.end(), first.tokens.begin(), first.tokens.end());
  whole.insert(whole.end(), other.begin(), other.end());
  Request fresh = next(whole, session);
  fresh.session.reset();
  fresh.append_to_session = false;
  auto alone = make();
  EXPECT_EQ(drain(*alone, *alone->submit(fresh))[0].tokens, right.tokens);

  ASSERT_TRUE(engine->sessions().rollback(session, 60));
  EXPECT_EQ(drain(*engine, *engine->submit(next(other, session)))[0].tokens, right.tokens);
  EXPECT_EQ(engine->sessions().rollback(session, 1000).error().param, "tokens");
  EXPECT_EQ(engine->sessions().fork(999).error().code, ErrorCode::kNotFound);
  engine->sessions().close(session);
  engine->sessions().close(fork);
  EXPECT_EQ(engine->cache().use().used, 0);
  engine->check_integrity();
}

TEST_F(EngineTest, SessionsGiveUpTheirPagesToRequestsAndStillAnswerTheSame) {
  auto engine = make(512, 256);
  const SessionId session = engine->sessions().open();
  Request first = request(150, 2);
  first.session = session;
  const auto answer = drain(*engine, *engine->submit(first))[0].tokens;
  EXPECT_EQ(drain(*engine, *engine->submit(request(200, 4)))[0].tokens.size(), 20u);
  first.sampling.max_tokens = 20;
  const auto again = drain(*engine, *engine->submit(first))[0];
  EXPECT_EQ(again.tokens, answer);
  EXPECT_LT(again.last.stats.cached_tokens, 149);
}

// Without prefix caching nothing else has them.
TEST_F(EngineTest, PagesThatASessionGaveUpComeBackFromSwapSpace) {
  for (const bool swaps : {true, false}) {
    Config config;
    config.prefix_caching = false;
    config.swap_bytes = swaps ? 16 << 20 : 0;
    config.preemption = Preemption::kSwap;
    auto engine = make(config, 256);
    const SessionId session = engine->sessions().open();
    Request first = request(150, 2);
    first.session = session;
    drain(*engine, *engine->submit(first));
    EXPECT_EQ(drain(*engine, *engine->submit(request(200, 4)))[0].tokens.size(), 20u);
    EXPECT_EQ(engine->cache().counters().swapped_out_pages > 0, swaps);
    Request next = request(10, 6);
    next.session = session;
    next.append_to_session = true;
    const auto answer = drain(*engine, *engine->submit(next))[0];
    EXPECT_EQ(answer.last.stats.cached_tokens, swaps ? 169 : 0);  // all but the last token, which was never computed
    EXPECT_EQ(answer.tokens.size(), 20u);
    engine->sessions().close(session);
    EXPECT_EQ(engine->cache().use().swap_used_pages, 0);
    engine->check_integrity();
  }
}

TEST_F(EngineTest, ARequestPastItsTimeEndsAndTheOthersDoNot) {
  auto engine = make();
  Request hurried = request(100, 1, 300);
  hurried.timeout_ms = 0.001;
  const RequestId late = *engine->submit(hurried), kept = *engine->submit(request(100, 2));
  auto results = drain(*engine);
  EXPECT_EQ(results[late].last.finish, FinishReason::kTimeout);
  EXPECT_EQ(results[kept].tokens.size(), 20u);
}

TEST_F(EngineTest, AnEngineFindsThePagesOfTheOneBefore) {
  MemoryEnv env;
  kv::DiskTierConfig disk;
  disk.directory = "/archive";
  std::vector<std::int32_t> tokens;
  for (const bool restarted : {false, true}) {
    auto executor = LocalExecutor::create(transformer_, *backend_, {}, 4096).or_throw();
    disk.origin = {
        .model_key = 1, .page_bytes = executor->device().page_bytes(), .block_tokens = executor->block_tokens()};
    const auto pages = kv::DiskTier::open(env, disk).or_throw();
    const auto engine = Engine::create(std::move(executor), tokenizer_, Env::system(), {}, pages.get()).or_throw();
    ASSERT_TRUE(engine->warm_up());
    const auto answer = drain(*engine, *engine->submit(request(300, 2)))[0];
    if (restarted) {
      EXPECT_EQ(answer.tokens, tokens);
      EXPECT_EQ(answer.last.stats.cached_tokens, 288);
    }
    tokens = answer.tokens;
  }
}

}  // namespace
}  // namespace millrace::engine
