#include "engine/engine.h"

#include "backend/cpu/kv_encoding.h"
#include "engine/testing/engine_fixture.h"

namespace millrace::engine {
namespace {

TEST_F(EngineTest, RefusesPagesThatItsLayoutDoesNotHave) {
  const auto made = LocalExecutor::create(transformer_, *backend_, {.block_tokens = 16}, 64);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("block-size is 16: pages of kv-layout paged32"), std::string::npos)
      << made.error().message;
}

TEST_F(EngineTest, ARequestGetsTheSameTokensInEveryKvLayoutAndPageSize) {
  for (const backend::cpu::KvEncoding& of_table : backend::cpu::all_kv_encodings()) {
    const std::string_view encoding = of_table.name;
    const auto expected = answers_over({.encoding = encoding});
    ASSERT_EQ(expected.size(), 6u);
    for (const backend::cpu::KvLayout& layout : backend::cpu::all_kv_layouts()) {
      for (const std::int64_t block : {1, 8, 16, 32, 64}) {
        if (!layout.fits(block)) continue;
        const auto pages = backend::cpu::choose_pages(encoding, layout.name, block).or_throw();
        EXPECT_EQ(answers_over(pages), expected) << encoding << " " << layout.name << " of " << block;
      }
    }
  }
}

TEST_F(EngineTest, ARequestGetsTheSameTokensAloneAndAmongOthersUnderAnyBudget) {
  std::vector<std::vector<std::int32_t>> alone;
  for (unsigned i = 0; i < 6; ++i) {
    auto engine = make();
    const RequestId id = *engine->submit(request(5 + 23 * i, i));
    alone.push_back(drain(*engine)[id].tokens);
    ASSERT_EQ(alone.back().size(), 20u);
  }
  for (const std::int64_t budget : {7, 33, 512}) {
    auto engine = make(budget);
    std::vector<RequestId> ids;
    for (unsigned i = 0; i < 6; ++i) {
      ids.push_back(*engine->submit(request(5 + 23 * i, i)));
      engine->step();  // arrive while others run
    }
    // Tokens of the steps above are not in the drained results: compare the ends.
    auto results = drain(*engine);
    for (unsigned i = 0; i < 6; ++i) {
      const auto& got = results[ids[i]].tokens;
      ASSERT_FALSE(got.empty());
      EXPECT_TRUE(std::equal(got.rbegin(), got.rend(), alone[i].rbegin())) << "budget " << budget << " request " << i;
    }
    EXPECT_EQ(engine->cache().use().used, 0);
  }
}

TEST_F(EngineTest, ASessionComputesOnlyNewTokensAndAnswersTheSame) {
  auto engine = make();
  const SessionId session = engine->sessions().open();
  Request first = request(100, 2);
  first.session = session;
  const RequestId first_id = *engine->submit(first);
  const auto answer = drain(*engine)[first_id].tokens;
  Request second = request(1, 2);
  second.tokens = first.tokens;
  second.tokens.insert(second.tokens.end(), answer.begin(), answer.end());
  const auto more = random_tokens(30, 9);
  second.tokens.insert(second.tokens.end(), more.begin(), more.end());
  Request fresh = second;
  second.session = session;
  const RequestId second_id = *engine->submit(second);
  const auto kept = drain(*engine)[second_id];
  EXPECT_EQ(kept.last.stats.cached_tokens, 119);  // the last token of the answer was sampled but never fed
  EXPECT_EQ(kept.last.stats.prompt_tokens, 150);
  const RequestId fresh_id = *engine->submit(fresh);
  EXPECT_EQ(drain(*engine)[fresh_id].tokens, kept.tokens);

  // A prompt that parts from what was computed reuses only what they share.
  Request third = request(1, 2);
  third.tokens = first.tokens;
  third.tokens.resize(60);
  third.session = session;
  const RequestId third_id = *engine->submit(third);
  EXPECT_EQ(drain(*engine)[third_id].last.stats.cached_tokens, 59);
  engine->sessions().close(session);
  EXPECT_EQ(engine->cache().use().used, 0);
}

TEST_F(EngineTest, CancellingOneLeavesTheOthersAloneAndFreesItsPages) {
  auto reference = make();
  const RequestId alone = *reference->submit(request(40, 4));
  const auto expected = drain(*reference)[alone].tokens;
  auto engine = make(16);
  const RequestId kept = *engine->submit(request(40, 4));
  const RequestId cancelled = *engine->submit(request(200, 5));
  for (int i = 0; i < 4; ++i) engine->step();
  engine->cancel(cancelled);
  auto results = drain(*engine);
  EXPECT_EQ(results[cancelled].last.finish, FinishReason::kCancelled);
  EXPECT_TRUE(std::equal(results[kept].tokens.rbegin(), results[kept].tokens.rend(), expected.rbegin()));
  EXPECT_EQ(engine->cache().use().used, 0);
}

TEST_F(EngineTest, RequestsThatCannotFitTogetherWaitForEachOther) {
  auto engine = make(64, 160);
  std::vector<RequestId> ids;
  for (unsigned i = 0; i < 5; ++i) ids.push_back(*engine->submit(request(90, i)));
  auto results = drain(*engine);
  for (const RequestId id : ids) EXPECT_EQ(results[id].tokens.size(), 20u);
}

TEST_F(EngineTest, BadRequestsNameTheirFieldAndChangeNothing) {
  auto engine = make(512, 128);
  Request r = request(10, 0);
  r.tokens[3] = 64;
  EXPECT_EQ(engine->submit(r).error().message, "token id 64 is outside the vocabulary of 64");
  r = request(0, 0);
  EXPECT_EQ(engine->submit(r).error().param, "prompt");
  r = request(128, 0);
  EXPECT_EQ(engine->submit(r).error().message, "the prompt has 128 tokens; with an answer the limit is 128");
  r = request(10, 0);
  r.sampling.min_p = 2;
  EXPECT_EQ(engine->submit(r).error().param, "min_p");
  r = request(10, 0);
  r.session = 77;
  EXPECT_EQ(engine->submit(r).error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(engine->idle());
  EXPECT_EQ(engine->cache().use().used, 0);
}

TEST_F(EngineTest, AnAnswerEndsAtTheLengthTheContextAllows) {
  auto engine = make(512, 4096);
  const RequestId id = *engine->submit(request(500, 0, 1000));
  auto results = drain(*engine);
  EXPECT_EQ(results[id].tokens.size(), 12u);
  EXPECT_EQ(results[id].last.finish, FinishReason::kLength);
}

}  // namespace
}  // namespace millrace::engine
