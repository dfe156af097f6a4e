// Requests that move between two engines, at any step, give the bits of those that stay.

#include "chat/answer_grammar.h"
#include "decode/sequence_breakers.h"
#include "engine/forwarding_executor.h"
#include "engine/snapshot_bytes.h"
#include "engine/testing/engine_fixture.h"

namespace millrace::engine {
namespace {

class TransferTest : public EngineTest {
 protected:
  static Config config() {
    Config config;
    config.scheduling.max_batched_tokens = 24;
    config.model_key = 7;
    return config;
  }
  std::unique_ptr<Engine> second() {
    Config other = config();
    other.first_id = 1000;
    return make(other, 4096);
  }

  using Answers = std::map<int, Collected>;
  static void collect(const std::vector<Output>& outputs, Answers& answers) {
    for (const Output& output : outputs) {
      Collected& r = answers[output.choice];
      if (output.token) r.tokens.push_back(*output.token);
      if (output.score) r.scores.push_back(*output.score);
      r.text += output.text;
      if (!output.prompt_scores.empty()) r.last.prompt_scores = output.prompt_scores;
      if (output.finish == FinishReason::kNone) continue;
      auto scores = std::move(r.last.prompt_scores);
      r.last = output;
      if (r.last.prompt_scores.empty()) r.last.prompt_scores = std::move(scores);
    }
  }

  // Through bytes, as to another process.
  RequestId move(Engine& from, Engine& to, RequestId id, Answers& answers) {
    std::vector<Output> outputs;
    const auto snapshot = from.transfers().export_sequence(id, outputs).or_throw();
    collect(outputs, answers);
    const auto read = sequence_from_bytes(to_bytes(snapshot)).or_throw();
    return to.transfers().import_sequence(read, compiled(read.request)).or_throw().request;
  }

  // What the request's grammar is compiled to, where it has one.
  std::shared_ptr<grammar::CompiledGrammar> compiled(const Request& request) {
    if (!request.grammar) return nullptr;
    return chat::compiled_grammar(grammars_, *request.grammar, 0).or_throw();
  }

  // Moves after every `stride` steps.
  Answers run(const Request& request, int stride, bool speculated) {
    std::unique_ptr<Engine> engines[] = {make(config(), 4096), second()};
    if (speculated) {
      for (auto& engine : engines) {
        engine->speculate(draft::make_drafter("ngram").or_throw(), SpeculationConfig{.tokens = 4, .adaptive = false});
      }
    }
    Answers answers;
    std::size_t at = 0;
    RequestId id = engines[0]->submit(request, compiled(request)).or_throw();
    for (int step = 1; !engines[at]->idle(); ++step) {
      collect(engines[at]->step(), answers);
      if (stride == 0 || step % stride != 0 || engines[at]->idle()) continue;
      id = move(*engines[at], *engines[1 - at], id, answers);
      EXPECT_TRUE(engines[at]->idle());
      EXPECT_EQ(engines[at]->cache().use().used, 0);
      engines[at]->check_integrity();
      at = 1 - at;
      engines[at]->check_integrity();
    }
    for (auto& engine : engines) EXPECT_EQ(engine->cache().use().used, 0);
    return answers;
  }

  grammar::GrammarCache grammars_{tokenizer_};

  void expect_same(const Request& request, bool speculated = false) {
    const Answers stayed = run(request, 0, false);
    ASSERT_FALSE(stayed.empty());
    for (const int stride : {1, 2, 5}) {
      const Answers moved = run(request, stride, speculated);
      ASSERT_EQ(moved.size(), stayed.size()) << stride;
      for (const auto& [choice, expected] : stayed) {
        const Collected& r = moved.at(choice);
        EXPECT_EQ(r.tokens, expected.tokens) << stride;
        EXPECT_EQ(r.text, expected.text) << stride;
        EXPECT_EQ(r.scores, expected.scores) << stride;
        EXPECT_EQ(r.last.finish, expected.last.finish) << stride;
        EXPECT_EQ(r.last.prompt_scores, expected.last.prompt_scores) << stride;
        EXPECT_EQ(r.last.embedding, expected.last.embedding) << stride;
        EXPECT_EQ(r.last.stats.output_tokens, expected.last.stats.output_tokens) << stride;
      }
    }
  }
};

TEST_F(TransferTest, GreedyAndSampledAnswersAreTheSame) {
  expect_same(request(70, 2));
  expect_same(request(70, 3));
}

TEST_F(TransferTest, SamplersThatRememberGoOn) {
  Request r = request(40, 5, 30);
  r.sampling.mirostat_mode = 2;
  r.sampling.mirostat_tau = 3.0;
  expect_same(r);
  r = request(40, 5, 30);
  r.sampling.repetition_penalty = 1.4;
  r.sampling.presence_penalty = 0.5;
  r.sampling.dry_multiplier = 0.8;
  r.sampling.dry_allowed_length = 1;
  r.sampling.dry_sequence_breakers = decode::find_sequence_breakers(decode::kDefaultSequenceBreakers, *tokenizer_);
  r.sampling.no_repeat_ngram_size = 3;
  r.sampling.logprobs = 2;
  expect_same(r);
}

TEST_F(TransferTest, SeveralAnswersMoveTogether) {
  Request r = request(30, 7, 12);
  r.n = 4;
  expect_same(r);
}

TEST_F(TransferTest, BeamsMoveTogether) {
  Request r = request(30, 8, 12);
  r.beams = decode::BeamOptions{.width = 4};
  r.n = 3;
  r.sampling.logprobs = 1;
  expect_same(r);
}

TEST_F(TransferTest, PromptsThatAreReadGoOnBeingRead) {
  Request r = request(90, 9, 6);
  r.prompt_logprobs = 2;
  expect_same(r);
  Request embedded = request(90, 9);
  embedded.embed = true;
  embedded.pooling = Pooling::kMean;
  expect_same(embedded);
}

TEST_F(TransferTest, SpeculatedOnesAreTheSame) {
  Request r = request(60, 10, 40);
  expect_same(r, true);
}

TEST_F(TransferTest, AnswersGoOnInTheirGrammar) {
  chat::AnswerGrammar grammar;
  grammar.constraint = {.language = "regex", .text = "(<[0-9]{2,4}>; ){3,6}!"};
  for (const unsigned seed : {2u, 3u}) {
    Request r = request(30, seed, 60);
    r.grammar = std::make_shared<const chat::AnswerGrammar>(grammar);
    expect_same(r);
    r.n = 2;
    expect_same(r);
  }
}

TEST_F(TransferTest, StopStringsThatBeganStop) {
  Request r = request(40, 3, 30);
  const std::string text = run(r, 0, false).at(0).text;
  ASSERT_GT(text.size(), 12u);
  r.sampling.stop = {text.substr(6, 5)};
  expect_same(r);
}

TEST_F(TransferTest, ASessionGoesWithItsRequestAndAlone) {
  auto here = make(config(), 4096), there = second();
  Answers answers;
  Request r = request(50, 4, 8);
  r.session = here->sessions().open();
  const RequestId id = here->submit(r).or_throw();
  for (int i = 0; i < 4; ++i) collect(here->step(), answers);
  std::vector<Output> outputs;
  const auto snapshot = here->transfers().export_sequence(id, outputs).or_throw();
  EXPECT_FALSE(here->sessions().idle(*r.session));  // it went away
  auto imported = there->transfers().import_sequence(snapshot).or_throw();
  ASSERT_TRUE(imported.session);
  while (!there->idle()) collect(there->step(), answers);
  auto back = session_from_bytes(to_bytes(there->transfers().export_session(*imported.session).or_throw()));
  const SessionId session = here->transfers().import_session(std::move(back).or_throw()).or_throw();
  Request next = request(5, 6, 8);
  next.session = session;
  next.append_to_session = true;
  const auto moved = drain(*here, here->submit(next).or_throw());
  // The same conversation in one engine.
  auto alone = make(config(), 4096);
  r.session = next.session = alone->sessions().open();
  const auto first = drain(*alone, alone->submit(r).or_throw());
  EXPECT_EQ(answers.at(0).tokens, first.at(0).tokens);
  const auto second_round = drain(*alone, alone->submit(next).or_throw());
  EXPECT_EQ(moved.at(0).tokens, second_round.at(0).tokens);
  EXPECT_GE(moved.at(0).last.stats.cached_tokens, 50);  // its pages came along
}

// Pages that have other contents from some time on, as those of ranks that have ended.
class LosingPages final : public kv::PageDevice {
 public:
  explicit LosingPages(kv::PageDevice& inner) : inner_(inner) {}
  void lose() { lost_ = true; }
  std::size_t page_bytes() const noexcept override { return inner_.page_bytes(); }
  bool intact() const noexcept override { return !lost_; }
  void copy(kv::BlockId from, kv::BlockId to) override { inner_.copy(from, to); }
  void write(kv::BlockId page, std::span<const std::byte> in) override { inner_.write(page, in); }
  void read(kv::BlockId page, std::span<std::byte> out) const override {
    inner_.read(page, out);
    if (lost_) std::ranges::fill(out, std::byte{0x3c});
  }

 private:
  kv::PageDevice& inner_;
  bool lost_ = false;
};

class LosingExecutor final : public ForwardingExecutor {
 public:
  explicit LosingExecutor(std::unique_ptr<Executor> inner)
      : ForwardingExecutor(std::move(inner)), pages_(ForwardingExecutor::device()) {}
  LosingPages& device() noexcept override { return pages_; }

 private:
  LosingPages pages_;
};

// Requests and sessions take along what they have said, and it is computed again.
TEST_F(TransferTest, PagesThatADeviceHasLostStayBehind) {
  const auto answer = [&](bool loses) {
    auto executor =
        std::make_unique<LosingExecutor>(LocalExecutor::create(transformer_, *backend_, {}, 4096).or_throw());
    LosingPages& pages = executor->device();
    auto here = Engine::create(std::move(executor), tokenizer_, Env::system(), config(), nullptr).or_throw();
    auto there = second();
    Request first = request(40, 5, 6), asked = request(50, 4, 8);
    first.session = here->sessions().open();
    auto said = drain(*here, here->submit(first).or_throw());
    Answers answers;
    const RequestId id = here->submit(asked).or_throw();
    for (int i = 0; i < 5; ++i) collect(here->step(), answers);
    if (loses) pages.lose();
    move(*here, *there, id, answers);
    auto snapshot = here->transfers().export_session(*first.session).or_throw();
    EXPECT_EQ(snapshot.computed > 0, !loses);
    Request next = request(5, 6, 8);
    next.session = there->transfers().import_session(std::move(snapshot)).or_throw();
    next.append_to_session = true;
    while (!there->idle()) collect(there->step(), answers);
    const auto then = drain(*there, there->submit(next).or_throw());
    return std::pair(answers.at(0).tokens, then.at(0).tokens);
  };
  EXPECT_EQ(answer(true), answer(false));
}

TEST_F(TransferTest, TimesAddUpAfterAMove) {
  auto here = make(config(), 4096), there = second();
  const RequestId id = here->submit(request(60, 2, 20)).or_throw();
  for (int i = 0; i < 8; ++i) here->step();
  Answers answers;
  move(*here, *there, id, answers);
  while (!there->idle()) collect(there->step(), answers);
  const Output& last = answers.at(0).last;
  EXPECT_NEAR(last.spent->total_ms(), milliseconds_between(last.stats.arrival, last.spent->finished), 0.01);
  EXPECT_EQ(last.stats.output_tokens, 20);
}

class BadSnapshotTest : public TransferTest {
 protected:
  SequenceSnapshot in_flight() {
    auto engine = make(config(), 4096);
    const RequestId id = engine->submit(request(60, 2, 20)).or_throw();
    for (int i = 0; i < 8; ++i) engine->step();
    std::vector<Output> outputs;
    return engine->transfers().export_sequence(id, outputs).or_throw();
  }
  // The message of the error, which leaves the engine as it was.
  std::string rejected(const SequenceSnapshot& snapshot, Engine& engine) {
    const auto before = engine.counters();
    const auto imported = engine.transfers().import_sequence(snapshot);
    EXPECT_FALSE(imported);
    EXPECT_TRUE(engine.idle());
    EXPECT_EQ(engine.counters().imports, before.imports);
    EXPECT_EQ(engine.cache().use().used, 0);
    engine.check_integrity();
    return imported ? "" : imported.error().message;
  }
  static std::string unread(const std::vector<std::byte>& bytes) {
    const auto read = sequence_from_bytes(bytes);
    return read ? "" : read.error().message;
  }
};

TEST_F(BadSnapshotTest, BytesThatAreNoneSaySo) {
  auto bytes = to_bytes(in_flight());
  EXPECT_EQ(unread({}), "the snapshot has 0 bytes: its head alone has 32");
  const std::vector<std::byte> cut(bytes.begin(), bytes.end() - 10);
  EXPECT_EQ(unread(cut),
            fmt::format("the snapshot is truncated: {} of {} bytes are there", bytes.size() - 42, bytes.size() - 32));
  auto changed = bytes;
  changed[8] = std::byte{9};
  EXPECT_EQ(unread(changed), "the snapshot is of version 9: this build has version 7");
  changed = bytes;
  changed[100] ^= std::byte{1};
  EXPECT_EQ(unread(changed), "the snapshot is damaged: its checksum is another one");
  EXPECT_EQ(unread(to_bytes(SessionSnapshot{})), "this is no snapshot of a sequence");
}

TEST_F(BadSnapshotTest, WhatDoesNotFitSaysSoAndNothingIsHalfDone) {
  auto engine = second();
  auto with = [&](const std::function<void(SequenceSnapshot&)>& change) {
    SequenceSnapshot snapshot = in_flight();
    change(snapshot);
    return rejected(snapshot, *engine);
  };
  EXPECT_EQ(with([](auto& s) { s.origin.model_key = 8; }),
            "the snapshot is of model 0000000000000008: this engine computes 0000000000000007");
  EXPECT_TRUE(with([](auto& s) { s.origin.block_tokens = 16; }).starts_with("the snapshot has pages of 16 tokens"));
  EXPECT_EQ(with([](auto& s) { s.answers[0].tokens[2] = 99999; }), "token id 99999 is outside the vocabulary of 64");
  EXPECT_TRUE(with([](auto& s) { ++s.answers[0].stats.output_tokens; }).starts_with("the snapshot has an answer of "));
  EXPECT_EQ(with([](auto& s) { s.request.session = 3; }),
            "the snapshot's request names session 3, which is another engine's");
  EXPECT_TRUE(with([](auto& s) { s.answers[0].pages.pages.pop_back(); }).starts_with("the snapshot has"));
  EXPECT_TRUE(with([](auto& s) { s.answers[0].computed = 1000; }).ends_with("says that 1000 are computed"));
  EXPECT_EQ(with([](auto& s) { s.answers.clear(); }), "the snapshot has no answers");
  EXPECT_EQ(with([](auto& s) { s.answers.push_back(s.answers[0]); }), "the snapshot has answer 0 twice");
  EXPECT_EQ(with([](auto& s) { s.request.sampling.temperature = -1.0; }), "temperature is -1: must be between 0 and 2");
  EXPECT_TRUE(with([](auto& s) { s.answers[0].max_total = 5000; }).starts_with("the sequence may grow to 5000"));
  EXPECT_TRUE(with([](auto& s) { s.beams.emplace(); }).starts_with("the snapshot has beams"));
  EXPECT_TRUE(engine->transfers().import_sequence(in_flight()));  // and one that is right is taken
}

TEST_F(BadSnapshotTest, AFullEngineTakesNone) {
  Config full = config();
  full.max_waiting = 1;
  auto engine = make(full, 4096);
  engine->submit(request(20, 2)).or_throw();
  const auto snapshot = in_flight();
  const auto imported = engine->transfers().import_sequence(snapshot);
  ASSERT_FALSE(imported);
  EXPECT_EQ(imported.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(imported.error().message, "1 requests are waiting: that is the limit");
  while (!engine->idle()) engine->step();
  EXPECT_TRUE(engine->transfers().import_sequence(snapshot));
}

TEST_F(BadSnapshotTest, WhatIsNotInFlightIsNotExported) {
  auto engine = make(config(), 4096);
  std::vector<Output> outputs;
  EXPECT_EQ(engine->transfers().export_sequence(77, outputs).error().message, "no request 77 is in flight");
  const RequestId id = engine->submit(request(20, 2)).or_throw();
  engine->cancel(id);
  EXPECT_FALSE(engine->transfers().export_sequence(id, outputs));
  EXPECT_FALSE(engine->transfers().export_session(5));
}

}  // namespace
}  // namespace millrace::engine
