// Scores of sampled tokens and of prompts, embeddings: what they are, and that nobody and nothing changes a bit of
// them.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/forwarding_executor.h"
#include "engine/testing/engine_fixture.h"
#include "model/testing/golden_logits.h"
#include "model/testing/runner.h"

namespace millrace::engine {
namespace {

constexpr std::size_t kPrompt = 150;

// The same bits, not only the same numbers.
bool same_bits(const TokenLogprob& a, const TokenLogprob& b) {
  return a.token == b.token && std::bit_cast<std::uint32_t>(a.logprob) == std::bit_cast<std::uint32_t>(b.logprob);
}

void expect_same(const std::vector<TokenScore>& a, const std::vector<TokenScore>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(same_bits(a[i].chosen, b[i].chosen)) << what << " " << i;
    ASSERT_EQ(a[i].rank, b[i].rank) << what << " " << i;
    ASSERT_TRUE(std::ranges::equal(a[i].top, b[i].top, same_bits)) << what << " " << i;
  }
}

struct Answer {
  std::vector<std::int32_t> tokens;
  std::vector<TokenScore> scores, prompt_scores;
  std::vector<float> embedding;
  std::size_t outputs_with_prompt = 0;
  std::string text;
  Output last;
};

class ScoresTest : public EngineTest {
 protected:
  static std::map<std::pair<RequestId, int>, Answer> run(Engine& engine) {
    std::map<std::pair<RequestId, int>, Answer> answers;
    while (!engine.idle()) {
      for (Output& output : engine.step()) {
        Answer& a = answers[{output.request, output.choice}];
        if (output.token) a.tokens.push_back(*output.token);
        if (output.score) a.scores.push_back(*output.score);
        a.text += output.text;
        if (!output.prompt_scores.empty()) {
          a.prompt_scores = output.prompt_scores;
          ++a.outputs_with_prompt;
          EXPECT_TRUE(a.tokens.size() == 1 || output.finish != FinishReason::kNone);
        }
        if (!output.embedding.empty()) a.embedding = output.embedding;
        a.last = std::move(output);
      }
    }
    engine.check_integrity();
    EXPECT_EQ(engine.cache().use().used, 0);
    return answers;
  }
  static Answer run(Engine& engine, Request request) {
    const RequestId id = engine.submit(std::move(request)).or_throw();
    return run(engine)[{id, 0}];
  }
  Request scored(std::size_t prompt = kPrompt, unsigned seed = 2, std::int64_t answer = 12) {
    Request r = request(prompt, seed, answer);
    r.prompt_logprobs = 4;
    r.sampling.logprobs = 3;
    return r;
  }
  Request embedding(Pooling pooling, std::size_t prompt = kPrompt, unsigned seed = 2) {
    Request r = request(prompt, seed);
    r.embed = true;
    r.pooling = pooling;
    return r;
  }

  // Logits and final states of all rows of a text, from the transformer alone.
  struct Rows final : model::LogitsConsumer {
    std::vector<float> logits, hidden;
    void take_logits(std::int64_t, const TensorView& rows) override {
      for (std::int64_t i = 0; i < rows.rows(); ++i)
        logits.insert(logits.end(), rows.row(i), rows.row(i) + rows.cols());
    }
    void take_hidden(std::int64_t, const TensorView& rows) override {
      for (std::int64_t i = 0; i < rows.rows(); ++i)
        hidden.insert(hidden.end(), rows.row(i), rows.row(i) + rows.cols());
    }
  };
  Rows rows_of(const std::vector<std::int32_t>& tokens) {
    model::TestRunner runner(kModel, {.kv = "bf16", .max_length = 512});
    Rows rows;
    runner.run_into(tokens, 512, rows);
    return rows;
  }
};

// Against float64 over the transformer's own logits: the prompt's tokens and the sampled ones alike.
TEST_F(ScoresTest, AreTheLogSoftmaxOfTheModelsLogits) {
  for (const unsigned seed : {2u, 3u}) {  // greedy, and sampled at temperature 0.9
    auto engine = make();
    Request asked = scored(kPrompt, seed);
    asked.sampling.top_k = 5;  // of the distribution that is sampled from; scores are of the model's
    asked.sampling.repetition_penalty = 1.3;
    const Answer answer = run(*engine, asked);
    ASSERT_EQ(answer.prompt_scores.size(), kPrompt - 1);
    ASSERT_EQ(answer.scores.size(), 12u);
    std::vector<std::int32_t> text = asked.tokens;
    text.insert(text.end(), answer.tokens.begin(), answer.tokens.end());
    const Rows rows = rows_of(text);
    double sum = 0.0;
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
      const bool sampled = i + 1 >= kPrompt;
      const TokenScore& score = sampled ? answer.scores[i + 1 - kPrompt] : answer.prompt_scores[i];
      const float* row = rows.logits.data() + i * 64;
      const auto exact = [&](std::int32_t token) {
        double total = 0.0;
        for (std::size_t v = 0; v < 64; ++v) total += std::exp(static_cast<double>(row[v]));
        return static_cast<double>(row[token]) - std::log(total);
      };
      ASSERT_EQ(score.chosen.token, text[i + 1]);
      ASSERT_NEAR(score.chosen.logprob, exact(text[i + 1]), 2e-6);
      ASSERT_EQ(score.rank, 1 + std::count_if(row, row + 64, [&](float x) { return x > row[text[i + 1]]; }));
      ASSERT_EQ(score.top.size(), sampled ? 3u : 4u);
      for (std::size_t t = 0; t < score.top.size(); ++t) {
        ASSERT_NEAR(score.top[t].logprob, exact(score.top[t].token), 2e-6);
        ASSERT_TRUE(t == 0 || score.top[t].logprob <= score.top[t - 1].logprob);
        if (score.rank == static_cast<std::int64_t>(t) + 1) {
          ASSERT_EQ(score.top[t], score.chosen);
        }
      }
      if (sampled) sum += static_cast<double>(score.chosen.logprob);
    }
    EXPECT_EQ(answer.last.stats.cumulative_logprob, sum);
    EXPECT_EQ(answer.outputs_with_prompt, 1u);
  }
}

// Against Hugging Face Transformers: float64 over the logits that it computes for the same model.
TEST_F(ScoresTest, OfAPromptAreThoseOfTransformers) {
  const model::GoldenLogits golden = model::read_golden(kModel);
  auto engine = make(512, 4096, {.encoding = "f32"});
  Request asked = request(1, 0, 1);
  asked.tokens = golden.tokens;
  asked.prompt_logprobs = 1;
  const Answer answer = run(*engine, asked);
  const std::size_t vocabulary = golden.logits.size() / golden.tokens.size();
  ASSERT_EQ(answer.prompt_scores.size(), golden.tokens.size() - 1);
  for (std::size_t i = 0; i + 1 < golden.tokens.size(); ++i) {
    const float* row = golden.logits.data() + i * vocabulary;
    double total = 0.0;
    for (std::size_t v = 0; v < vocabulary; ++v) total += std::exp(static_cast<double>(row[v]));
    EXPECT_NEAR(answer.prompt_scores[i].chosen.logprob,
                static_cast<double>(row[golden.tokens[i + 1]]) - std::log(total), 2e-4);
  }
}

TEST_F(ScoresTest, AreTheSameBitsAloneBatchedChunkedAndAfterPrefixHits) {
  auto alone = make();
  const Answer expected = run(*alone, scored());
  for (const std::int64_t budget : {1, 7, 33, 512}) {
    auto engine = make(budget);
    run(*engine, request(kPrompt, 2));  // publishes the prompt, which must be computed again
    std::vector<RequestId> ids;
    for (unsigned i = 0; i < 5; ++i) {
      ids.push_back(engine->submit(i == 3 ? scored() : i == 1 ? scored(90, 7) : request(20 + 31 * i, i)).or_throw());
    }
    auto answers = run(*engine);
    const Answer& got = answers[{ids[3], 0}];
    expect_same(got.prompt_scores, expected.prompt_scores, "budget " + std::to_string(budget));
    expect_same(got.scores, expected.scores, "budget " + std::to_string(budget));
    EXPECT_EQ(got.tokens, expected.tokens);
    EXPECT_EQ(got.last.stats.cached_tokens, 0);
    EXPECT_EQ((answers[{ids[1], 0}].prompt_scores.size()), 89u);
  }
}

TEST_F(ScoresTest, WhatAScoredPromptComputedIsFoundByOthers) {
  auto engine = make();
  run(*engine, scored());
  Request same = scored();
  same.prompt_logprobs.reset();
  EXPECT_EQ(run(*engine, same).last.stats.cached_tokens, static_cast<std::int64_t>(kPrompt) - 1);
}

TEST_F(ScoresTest, PreemptedByEitherKindTheyAreTheSameBits) {
  std::vector<Answer> alone;
  for (unsigned i = 0; i < 8; ++i) {
    auto engine = make();
    alone.push_back(run(*engine, scored(60, i, 80)));
  }
  for (const Preemption kind : {Preemption::kRecompute, Preemption::kSwap}) {
    Config config;
    config.preemption = kind;
    config.swap_bytes = 1 << 22;
    config.scheduling.max_batched_tokens = 24;  // prompts are preempted half-way, too
    config.policy = "priority";
    auto engine = make(config, 480);
    std::vector<RequestId> ids;
    for (unsigned i = 0; i < 8; ++i) {
      Request r = scored(60, i, 80);
      r.expected_tokens = 1;
      r.priority = 8 - static_cast<int>(i);
      ids.push_back(engine->submit(r).or_throw());
    }
    auto answers = run(*engine);
    EXPECT_GT(engine->counters().preemptions, 0);
    for (unsigned i = 0; i < 8; ++i) {
      expect_same(answers[{ids[i], 0}].prompt_scores, alone[i].prompt_scores, std::to_string(i));
      expect_same(answers[{ids[i], 0}].scores, alone[i].scores, std::to_string(i));
    }
  }
}

// Half of a prompt is read when its request loses its pages. Where another publishes all of the prompt meanwhile, what
// has not been read may not be skipped; where all of it is gone, what has been read is not read again.
TEST_F(ScoresTest, APreemptedPromptIsReadToItsEndOnce) {
  for (const auto& [embeds, published] : {std::pair{false, false}, {false, true}, {true, false}, {true, true}}) {
    const Request asked = embeds ? embedding(Pooling::kMean) : scored();
    auto alone = make();
    const Answer expected = run(*alone, asked);
    Config config;
    config.preemption = Preemption::kRecompute;
    config.scheduling.max_batched_tokens = 16;
    auto engine = make(config, 192);
    const RequestId id = engine->submit(asked).or_throw();
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(engine->step().empty());
    engine->pause(id, true);
    const auto finish = [&](const Request& other) {
      const RequestId its = engine->submit(other).or_throw();
      for (bool ended = false; !ended;) {
        for (const Output& output : engine->step()) {
          ASSERT_EQ(output.request, its);
          ended = output.last;
        }
      }
    };
    finish(request(kPrompt, 9, 40));
    ASSERT_EQ(engine->counters().preemptions, 1);
    if (published) finish(request(kPrompt, 2, 1));
    engine->pause(id, false);
    const Answer got = run(*engine)[{id, 0}];
    expect_same(got.prompt_scores, expected.prompt_scores, "preempted");
    EXPECT_EQ(got.embedding, expected.embedding);
    EXPECT_EQ(got.last.finish, expected.last.finish);
  }
}

TEST_F(ScoresTest, EveryAnswerHasItsOwnAndTheFirstThePrompts) {
  auto engine = make();
  Request several = scored(kPrompt, 1);
  several.n = 3;
  several.sampling.presence_penalty = 0.5;
  const RequestId id = engine->submit(several).or_throw();
  auto together = run(*engine);
  for (int choice = 0; choice < 3; ++choice) {
    auto fresh = make();
    Request one = scored(kPrompt, 1);
    one.sampling.presence_penalty = 0.5;
    one.sampling.seed += static_cast<std::uint64_t>(choice);
    const Answer alone = run(*fresh, one);
    const Answer& got = together[{id, choice}];
    expect_same(got.scores, alone.scores, std::to_string(choice));
    EXPECT_EQ(got.last.stats.cumulative_logprob, alone.last.stats.cumulative_logprob);
    EXPECT_EQ(got.outputs_with_prompt, choice == 0 ? 1u : 0u);
  }
}

TEST_F(ScoresTest, WithoutAnAnswerThePromptIsScoredAllTheSame) {
  auto engine = make();
  const Answer expected = run(*engine, scored());
  Request echo = scored();
  echo.sampling.max_tokens = 0;
  const Answer answer = run(*engine, echo);
  expect_same(answer.prompt_scores, expected.prompt_scores, "echo");
  EXPECT_TRUE(answer.tokens.empty());
  EXPECT_EQ(answer.last.finish, FinishReason::kLength);
  EXPECT_EQ(answer.last.stats.output_tokens, 0);
  echo.tokens = random_tokens(512, 3);  // as long as the context
  EXPECT_EQ(run(*engine, echo).prompt_scores.size(), 511u);
  echo.tokens.resize(1);
  const Answer one = run(*engine, echo);
  EXPECT_TRUE(one.prompt_scores.empty());
  EXPECT_EQ(one.last.finish, FinishReason::kLength);
}

TEST_F(ScoresTest, AnEmbeddingIsTheNormalisedStateOfTheLastTokenOrTheMean) {
  const Rows rows = rows_of(random_tokens(kPrompt, 2));
  const std::size_t width = rows.hidden.size() / kPrompt;
  for (const Pooling pooling : {Pooling::kLast, Pooling::kMean}) {
    std::vector<double> expected(width, 0.0);
    for (std::size_t row = pooling == Pooling::kLast ? kPrompt - 1 : 0; row < kPrompt; ++row) {
      for (std::size_t i = 0; i < width; ++i) expected[i] += static_cast<double>(rows.hidden[row * width + i]);
    }
    double norm = 0.0;
    for (const double x : expected) norm += x * x;
    auto alone = make();
    const Answer answer = run(*alone, embedding(pooling));
    ASSERT_EQ(answer.embedding.size(), width);
    double length = 0.0;
    for (std::size_t i = 0; i < width; ++i) {
      EXPECT_NEAR(answer.embedding[i], expected[i] / std::sqrt(norm), 1e-7);
      length += static_cast<double>(answer.embedding[i]) * static_cast<double>(answer.embedding[i]);
    }
    EXPECT_NEAR(length, 1.0, 1e-6);
    EXPECT_EQ(answer.last.finish, FinishReason::kStop);
    EXPECT_TRUE(answer.last.last);
    EXPECT_TRUE(answer.tokens.empty());
    for (const std::int64_t budget : {1, 7, 512}) {
      auto engine = make(budget);
      run(*engine, request(100, 2));
      std::vector<RequestId> ids;
      for (unsigned i = 0; i < 4; ++i) {
        ids.push_back(engine->submit(i == 2 ? embedding(pooling) : request(50 + i, i)).or_throw());
      }
      const Answer got = run(*engine)[{ids[2], 0}];
      ASSERT_EQ(got.embedding.size(), width);
      EXPECT_EQ(std::memcmp(got.embedding.data(), answer.embedding.data(), width * sizeof(float)), 0) << budget;
    }
    auto engine = make();
    run(*engine, embedding(pooling));
    const Answer again = run(*engine, embedding(pooling));
    EXPECT_EQ(again.embedding, answer.embedding);
    EXPECT_EQ(again.last.stats.cached_tokens, pooling == Pooling::kLast ? 149 : 0);
  }
}

TEST_F(ScoresTest, StopReasonsSayWhatEndedTheAnswer) {
  auto engine = make();
  Request r = request(30, 0);
  const Answer whole = run(*engine, r);
  ASSERT_EQ(whole.tokens.size(), 20u);
  EXPECT_EQ(whole.last.stop_reason, StopReason{});
  r.sampling.stop_token_ids = {whole.tokens[7], whole.tokens[5]};
  const Answer by_token = run(*engine, r);
  const auto first = std::min(std::find(whole.tokens.begin(), whole.tokens.end(), whole.tokens[7]),
                              std::find(whole.tokens.begin(), whole.tokens.end(), whole.tokens[5]));
  EXPECT_EQ(by_token.tokens.size(), static_cast<std::size_t>(first - whole.tokens.begin()) + 1);
  EXPECT_EQ(by_token.last.finish, FinishReason::kStop);
  EXPECT_EQ(by_token.last.stop_reason, StopReason{*first});
  EXPECT_TRUE(whole.text.starts_with(by_token.text));
  r.sampling.include_stop_str_in_output = true;
  EXPECT_GE(run(*engine, r).text.size(), by_token.text.size());
  // Not before its minimum.
  r.sampling.min_tokens = 15;
  const Answer longer = run(*engine, r);
  for (std::size_t i = 0; i < 15; ++i) {
    EXPECT_TRUE(longer.tokens[i] != whole.tokens[7] && longer.tokens[i] != whole.tokens[5]) << i;
  }
  r = request(30, 0);
  ASSERT_GT(whole.text.size(), 6u);
  r.sampling.stop = {whole.text.substr(3, 2)};
  const Answer by_text = run(*engine, r);
  EXPECT_EQ(by_text.last.stop_reason, StopReason{r.sampling.stop[0]});
  EXPECT_EQ(by_text.text, whole.text.substr(0, whole.text.find(r.sampling.stop[0])));
  r.sampling.include_stop_str_in_output = true;
  EXPECT_EQ(run(*engine, r).text, by_text.text + r.sampling.stop[0]);
}

// An executor whose device computes NaN for one token of the vocabulary.
class Spoiling final : public ForwardingExecutor {
 public:
  Spoiling(std::unique_ptr<Executor> inner, std::int32_t token) : ForwardingExecutor(std::move(inner)), token_(token) {}
  void launch(StepInput input) override {
    input_ = input;
    ForwardingExecutor::launch(std::move(input));
  }
  Result<StepResult> wait() override {
    auto result = ForwardingExecutor::wait();
    result->logits = own_copy(result->logits, logits_);
    for (std::size_t i = 0; i < input_.logit_rows.size(); ++i) {
      if (broken(input_.logit_rows[i])) result->logits.row(static_cast<std::int64_t>(i))[11] = kNaN;
    }
    for (std::size_t i = 0; i < input_.scored_rows.size(); ++i) {
      if (broken(input_.scored_rows[i].row)) result->scores[i].reset();
    }
    const std::size_t width = input_.hidden_rows.empty() ? 0 : result->hidden.size() / input_.hidden_rows.size();
    for (std::size_t i = 0; i < input_.hidden_rows.size(); ++i) {
      if (broken(input_.hidden_rows[i])) result->hidden[i * width + 11] = kNaN;
    }
    return result;
  }

 private:
  static constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  bool broken(std::int64_t row) const { return input_.tokens[static_cast<std::size_t>(row)] == token_; }
  std::int32_t token_;
  std::vector<float> logits_;
  StepInput input_;
};

TEST_F(ScoresTest, ANaNRowEndsItsRequestAndNoOther) {
  constexpr std::int32_t kBroken = 13;
  const auto make_spoiling = [&] {
    Config config;
    config.scheduling.max_sequences = 16;
    auto executor = LocalExecutor::create(transformer_, *backend_, {}, 4096).or_throw();
    return Engine::create(std::make_unique<Spoiling>(std::move(executor), kBroken), tokenizer_, Env::system(), config)
        .or_throw();
  };
  auto engine = make_spoiling();
  const auto clean = [](Request r) {
    for (std::int32_t& token : r.tokens) token = token == kBroken ? 14 : token;
    r.sampling.logit_bias = {{kBroken, -100.0f}};
    return r;
  };
  const auto with = [&](Request r, std::size_t at) {
    r = clean(std::move(r));
    r.tokens[at] = kBroken;
    return r;
  };
  const std::vector<Request> requests = {
      clean(scored()),                               // 0: well
      with(scored(), 70),                            // 1: in the prompt's scores
      with(scored(), kPrompt - 1),                   // 2: where the first token is sampled
      with(embedding(Pooling::kMean), 20),           // 3
      with(embedding(Pooling::kLast), kPrompt - 1),  // 4
      with(embedding(Pooling::kLast), 20),           // 5: a row that nobody looks at
  };
  std::vector<RequestId> ids;
  for (const Request& r : requests) ids.push_back(engine->submit(r).or_throw());
  auto answers = run(*engine);
  const bool fails[] = {false, true, true, true, true, false};
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Output& last = answers[{ids[i], 0}].last;
    EXPECT_EQ(last.finish == FinishReason::kError, fails[i]) << i;
    if (fails[i]) {
      ASSERT_TRUE(last.error) << i;
      EXPECT_EQ(last.error->code, ErrorCode::kInternal);
    }
  }
  EXPECT_EQ(engine->counters().numerical_errors, 4);
  auto alone = make_spoiling();
  expect_same(answers[{ids[0], 0}].prompt_scores, run(*alone, requests[0]).prompt_scores, "well");
}

}  // namespace
}  // namespace millrace::engine
