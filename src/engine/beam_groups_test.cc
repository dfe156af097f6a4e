#include "backend/cpu/kv_layout.h"
#include "engine/testing/engine_fixture.h"

namespace millrace::engine {
namespace {

class BeamsTest : public EngineTest {
 protected:
  Request beam_request(std::size_t prompt, unsigned seed, int width, int n, std::int64_t answer = 14) {
    Request r = request(prompt, seed, answer);
    r.n = n;
    r.beams.emplace();
    r.beams->width = width;
    return r;
  }

  // The search over rows that the engine itself gives of each beam, asked for alone.
  std::vector<std::vector<std::int32_t>> searched(const Request& request) {
    decode::BeamOptions options = *request.beams;
    options.max_tokens = request.sampling.max_tokens;
    options.end_tokens = request.sampling.stop_token_ids;
    decode::BeamSearch search(options);
    const auto engine = make();
    while (!search.done()) {
      std::vector<std::vector<decode::ScoredToken>> rows;
      for (const auto& beam : search.live()) {
        Request one = request;
        one.beams.reset();
        one.n = 1;
        one.tokens.insert(one.tokens.end(), beam.tokens.begin(), beam.tokens.end());
        one.sampling.max_tokens = 1;
        one.sampling.logprobs = decode::kMaxLogprobs;
        engine->submit(one).or_throw();
        std::vector<decode::ScoredToken> row;
        while (!engine->idle()) {
          for (const Output& output : engine->step()) {
            for (const TokenLogprob& next : output.score->top) {
              row.push_back({next.token, static_cast<double>(next.logprob)});
            }
          }
        }
        rows.push_back(std::move(row));
      }
      std::vector<std::span<const decode::ScoredToken>> views;
      for (const auto& row : rows) views.emplace_back(std::span(row).first(search.row_width()));
      search.step(views);
    }
    std::vector<std::vector<std::int32_t>> found;
    for (const auto& hypothesis : search.finished()) found.push_back(hypothesis.tokens);
    found.resize(std::min(found.size(), static_cast<std::size_t>(request.n)));
    return found;
  }

  std::vector<std::vector<std::int32_t>> answered(Engine& engine, const Request& request) {
    std::vector<std::vector<std::int32_t>> answers;
    const RequestId id = engine.submit(request).or_throw();
    for (const auto& [choice, answer] : drain(engine, id)) answers.push_back(answer.tokens);
    return answers;
  }
};

TEST_F(BeamsTest, FindTheAnswersThatASearchOverEachBeamAloneFinds) {
  const auto engine = make();
  for (const int width : {1, 2, 4, 8}) {
    Request r = beam_request(19, static_cast<unsigned>(width), width, std::min(width, 3));
    EXPECT_EQ(answered(*engine, r), searched(r)) << width;
    if (width > 4) continue;  // one alone lists kMaxLogprobs tokens
    r.sampling.stop_token_ids = {13, 55};
    r.beams->length_penalty = 0.3;
    EXPECT_EQ(answered(*engine, r), searched(r)) << width;
    engine->check_integrity();
    EXPECT_EQ(engine->cache().use().used, 0);
  }
}

TEST_F(BeamsTest, InGroupsDiffer) {
  const auto engine = make();
  Request r = beam_request(19, 3, 4, 4);
  r.beams->groups = 2;
  r.beams->diversity_penalty = 1.5;
  EXPECT_EQ(answered(*engine, r), searched(r));
}

TEST_F(BeamsTest, GiveTheSameAmongOthersWhenPagesAreShortAndInEveryLayout) {
  const Request wanted = beam_request(40, 2, 4, 4, 24);
  const auto expected = answered(*make(), wanted);
  ASSERT_EQ(expected.size(), 4u);
  std::int64_t preemptions = 0;
  for (const auto& [layout, block] : {std::pair{"token", 1}, {"vector16", 16}, {"paged32", 32}}) {
    const auto engine = make(50, 448, backend::cpu::choose_pages("bf16", layout, block).or_throw());
    for (unsigned i = 0; i < 4; ++i) {
      Request other = request(50, 20 + i, 60);
      engine->submit(other).or_throw();
    }
    EXPECT_EQ(answered(*engine, wanted), expected) << layout;
    engine->check_integrity();
    EXPECT_EQ(engine->cache().use().used, 0);
    preemptions += engine->counters().preemptions;
  }
  EXPECT_GT(preemptions, 0);
}

TEST_F(BeamsTest, TellScoresOfTheTokensTheyFound) {
  Request r = beam_request(19, 6, 3, 2);
  r.sampling.logprobs = 2;
  r.prompt_logprobs = 1;
  const auto engine = make();
  const RequestId id = engine->submit(r).or_throw();
  for (const auto& [choice, answer] : drain(*engine, id)) {
    ASSERT_EQ(answer.scores.size(), answer.tokens.size());
    Request again = request(1, 6, 1);
    again.tokens = r.tokens;
    again.tokens.insert(again.tokens.end(), answer.tokens.begin(), answer.tokens.end());
    again.sampling.max_tokens = 0;
    again.prompt_logprobs = 2;
    const auto other = make();
    other->submit(again).or_throw();
    std::vector<TokenScore> read;
    while (!other->idle()) {
      for (Output& output : other->step()) read = output.prompt_scores;
    }
    for (std::size_t i = 0; i < answer.scores.size(); ++i) {
      EXPECT_EQ(answer.scores[i], read[r.tokens.size() - 1 + i]) << choice << " " << i;
    }
  }
}

TEST_F(BeamsTest, SayHowLongTheNextAnswerWillBeWhereTheyStopped) {
  const auto engine = make();
  const auto predicted = [&] {
    const RequestId id = engine->submit(request(9, 0, 200)).or_throw();
    const std::int64_t tokens = engine->scheduler().waiting().front()->predicted_output;
    engine->cancel(id);
    engine->step();
    return tokens;
  };
  EXPECT_EQ(predicted(), 200);
  for (unsigned i = 0; i < 10; ++i) {
    Request r = beam_request(10 + i, i, 3, 2, 60);
    for (std::int32_t token = 3; token < 40; ++token) r.sampling.stop_token_ids.push_back(token);
    answered(*engine, r);
  }
  EXPECT_LT(predicted(), 60);
}

TEST_F(BeamsTest, EndAsOneAnswerWhenCancelled) {
  for (const int steps : {0, 1, 4}) {
    const auto engine = make();
    const RequestId id = engine->submit(beam_request(30, 1, 4, 2, 50)).or_throw();
    for (int i = 0; i < steps; ++i) EXPECT_TRUE(engine->step().empty());
    engine->cancel(id);
    const auto outputs = engine->step();
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(outputs[0].choice, 0);
    EXPECT_EQ(outputs[0].finish, FinishReason::kCancelled);
    EXPECT_TRUE(outputs[0].last);
    EXPECT_TRUE(engine->idle());
    EXPECT_EQ(engine->cache().use().used, 0);
  }
}

TEST_F(BeamsTest, RejectWhatTheyCannotDo) {
  const auto engine = make();
  const auto rejection = [&](const Request& r) { return engine->submit(r).error().message; };
  EXPECT_EQ(rejection(beam_request(5, 1, 2, 3)), "n is 3: a search with 2 beams finds no more answers");
  EXPECT_EQ(rejection(beam_request(5, 1, 17, 1)), "num_beams is 17: at most 16 sequences run at once");
  Request r = beam_request(5, 1, 2, 1);
  r.session = engine->sessions().open();
  EXPECT_EQ(rejection(r), "a session goes on with one answer, not with beams");
}

}  // namespace
}  // namespace millrace::engine
