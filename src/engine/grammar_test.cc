// Answers that fit a grammar.

#include "engine/testing/engine_fixture.h"

namespace millrace::engine {
namespace {

using grammar::Grammar;

class GrammarTest : public EngineTest {
 protected:
  using Compiled = std::shared_ptr<grammar::CompiledGrammar>;

  Compiled compiled(const Grammar& grammar) {
    grammar::WorkMeter meter;
    return grammar::compile(grammar, vocabulary_, meter).or_throw();
  }
  // Three fields of digits, in a text of which most is fixed.
  static Grammar record() {
    Grammar g;
    unicode::CodePointSet digits;
    digits.add('0', '9');
    const grammar::ExpressionId number = g.repeat(g.character(digits), 2, 4);
    g.set_root(g.sequence(
        {g.bytes("<(1)> = "), number, g.bytes("; <(2)> = "), number, g.bytes("; <(3)> = "), number, g.bytes("!\n")}));
    return g;
  }
  Request asking(unsigned seed) { return request(20 + 3 * seed, seed, 100); }
  std::unique_ptr<Engine> with_jumps(bool jump_forward) {
    Config config;
    config.jump_forward = jump_forward;
    return make(config, 4096);
  }

  std::shared_ptr<grammar::Vocabulary> vocabulary_ = grammar::make_vocabulary(tokenizer_);
};

TEST_F(GrammarTest, AnswersEndWhereTheirGrammarDoes) {
  const Compiled grammar = compiled(record());
  for (const bool ignore_eos : {true, false}) {
    const auto engine = make();
    for (unsigned seed = 0; seed < 6; ++seed) {
      Request r = asking(seed);
      r.sampling.ignore_eos = ignore_eos;
      r.sampling.min_tokens = 90;  // longer than the grammar allows
      engine->submit(r, grammar).or_throw();
    }
    for (const auto& [id, answer] : drain(*engine)) {
      grammar::Matcher matcher(grammar);
      EXPECT_TRUE(matcher.accept_bytes(answer.text) && matcher.must_end()) << answer.text;
      EXPECT_EQ(answer.last.finish, FinishReason::kStop);
      EXPECT_TRUE(std::holds_alternative<std::monostate>(answer.last.stop_reason));
    }
  }
}

TEST_F(GrammarTest, BeamsEndWhereTheirGrammarDoes) {
  Grammar g;
  g.set_root(g.choice({g.bytes("<12>"), g.bytes("<34>"), g.bytes("()"), g.bytes("")}));
  Request r = request(20, 1, 30);
  r.n = 3;
  r.beams.emplace();
  r.beams->width = 4;
  const auto engine = make();
  const RequestId id = engine->submit(r, compiled(g)).or_throw();
  std::set<std::string> texts;
  for (const auto& [choice, answer] : drain(*engine, id)) {
    EXPECT_NE(answer.last.finish, FinishReason::kError) << answer.last.error->message;
    texts.insert(answer.text);
  }
  EXPECT_FALSE(texts.empty());
}

TEST_F(GrammarTest, JumpingOverWhatIsForcedChangesNothingButTheSteps) {
  const Compiled grammar = compiled(record());
  std::vector<std::vector<std::int32_t>> answers[2];
  std::int64_t steps[2] = {};
  for (const bool jump : {false, true}) {
    const auto engine = with_jumps(jump);
    for (unsigned seed = 0; seed < 5; ++seed) engine->submit(asking(seed), grammar).or_throw();
    engine->submit(request(30, 9, 40)).or_throw();  // without one
    for (const auto& [id, answer] : drain(*engine)) answers[jump].push_back(answer.tokens);
    steps[jump] = engine->counters().steps;
    EXPECT_EQ(engine->counters().accepted_tokens > 0, jump);
  }
  EXPECT_EQ(answers[0], answers[1]);
  EXPECT_LT(steps[1], steps[0]);
}

TEST_F(GrammarTest, AnswerWithoutOneIsNotTouched) {
  const auto plain = make(), mixed = make();
  const RequestId alone = plain->submit(request(33, 4, 40)).or_throw();
  const auto expected = drain(*plain, alone);
  mixed->submit(asking(3), compiled(record())).or_throw();
  const RequestId beside = mixed->submit(request(33, 4, 40)).or_throw();
  EXPECT_EQ(drain(*mixed, beside).at(0).tokens, expected.at(0).tokens);
}

// The model has 64 tokens, and none of them goes on here: that request fails, and nobody else notices.
TEST_F(GrammarTest, AnAnswerThatCannotGoOnFailsAlone) {
  Grammar g;
  g.set_root(g.bytes("12z"));
  const auto engine = make();
  const RequestId bad = engine->submit(request(10, 0), compiled(g)).or_throw();
  const RequestId good = engine->submit(asking(2), compiled(record())).or_throw();
  const auto results = drain(*engine);
  EXPECT_EQ(results.at(bad).last.finish, FinishReason::kError);
  EXPECT_EQ(results.at(bad).last.error->param, "grammar");
  EXPECT_EQ(results.at(bad).text, "12");
  EXPECT_EQ(results.at(good).last.finish, FinishReason::kStop);
}

TEST_F(GrammarTest, EveryRoundOfASessionHasItsOwn) {
  const Compiled grammar = compiled(record());
  const auto engine = make();
  const SessionId session = engine->sessions().open();
  for (unsigned round = 0; round < 3; ++round) {
    Request r = asking(round);
    r.session = session;
    r.append_to_session = round > 0;
    engine->submit(r, round == 1 ? nullptr : grammar).or_throw();
    const auto answer = drain(*engine).begin()->second;
    EXPECT_EQ(answer.last.finish, round == 1 ? FinishReason::kLength : FinishReason::kStop);
  }
}

}  // namespace
}  // namespace millrace::engine
