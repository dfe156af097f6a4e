// Requests that the engine rejects, each with the field that is wrong.

#include "engine/testing/engine_fixture.h"

namespace millrace::engine {
namespace {

using RequestErrors = EngineTest;

TEST_F(RequestErrors, NameTheField) {
  auto engine = make();
  const auto param = [&](void (*spoil)(Request&)) {
    Request r = request(10, 0);
    spoil(r);
    const auto id = engine->submit(r);
    return id ? std::string("accepted") : id.error().param;
  };
  EXPECT_EQ(param([](Request& r) { r.prompt_logprobs = 21; }), "prompt_logprobs");
  EXPECT_EQ(param([](Request& r) { r.prompt_logprobs = -1; }), "prompt_logprobs");
  EXPECT_EQ(param([](Request& r) { r.sampling.logprobs = 21; }), "logprobs");
  EXPECT_EQ(param([](Request& r) { r.sampling.max_tokens = 0; }), "max_tokens");
  EXPECT_EQ(param([](Request& r) { r.sampling.stop_token_ids = {64}; }), "stop_token_ids");
  EXPECT_EQ(param([](Request& r) { r.sampling.logit_bias = {{64, 1.0f}}; }), "logit_bias");
  EXPECT_EQ(param([](Request& r) { r.sampling.bad_words = {{1, 64}}; }), "bad_words");
  EXPECT_EQ(param([](Request& r) { r.sampling.allowed_token_ids = {-1}; }), "allowed_token_ids");
  EXPECT_EQ(param([](Request& r) {
              r.prompt_logprobs = 1;
              r.sampling.max_tokens = 0;
              r.n = 2;
            }),
            "n");
  EXPECT_EQ(param([](Request& r) { r.embed = true, r.n = 2; }), "n");
  EXPECT_EQ(param([](Request& r) { r.embed = true, r.prompt_logprobs = 1; }), "prompt_logprobs");
  EXPECT_EQ(param([](Request& r) { r.embed = true, r.tokens.clear(); }), "prompt");
  EXPECT_EQ(param([](Request& r) { r.embed = true, r.tokens[0] = 64; }), "prompt");
  EXPECT_EQ(param([](Request& r) { r.embed = true, r.tokens.assign(513, 1); }), "prompt");
  Request r = request(10, 0);
  r.session = engine->sessions().open();
  r.prompt_logprobs = 0;
  EXPECT_EQ(engine->submit(r).error().param, "session");
  EXPECT_TRUE(engine->idle());
  engine->sessions().close(*r.session);
}

// As a wrong request, and alone.
TEST_F(RequestErrors, EndAnAnswerThatBansLeaveNothingToDrawFor) {
  auto engine = make();
  Request banned = request(10, 0);
  banned.sampling.allowed_token_ids = {7};
  banned.sampling.bad_words = {{7}};
  const RequestId id = engine->submit(banned).or_throw();
  const Collected answer = drain(*engine, id).at(0);
  EXPECT_EQ(answer.last.finish, FinishReason::kError);
  EXPECT_EQ(answer.last.error->code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(engine->counters().numerical_errors, 0);
}

}  // namespace
}  // namespace millrace::engine
