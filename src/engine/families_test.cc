// Every family under every feature of the engine: answers and scores, bit for bit those of the plain path. Which
// families there are, the golden folders say; there are no exceptions.

#include <filesystem>

#include "backend/cpu/kv_layout.h"
#include "engine/snapshot_bytes.h"
#include "engine/testing/engine_fixture.h"

namespace millrace::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kFamilyAnswer = 24;
// Where memory is short: of 16 tokens. Three prompts fit, and their answers do not.
constexpr std::int64_t kPages = 7;

std::vector<fs::path> families() {
  std::vector<fs::path> folders;
  for (const auto& folder : fs::directory_iterator(fs::path(MILLRACE_TEST_DATA) / "../golden/families")) {
    if (fs::exists(folder.path() / "config.json")) folders.push_back(folder.path());
  }
  std::ranges::sort(folders);
  return folders;
}

class FamilyEngine : public EngineTest, public testing::WithParamInterface<fs::path> {
 protected:
  FamilyEngine() : EngineTest(GetParam()) {}

  using Answers = std::map<int, Collected>;

  Request asked(int n = 1) {
    Request r = request(26, 4, kFamilyAnswer);
    r.n = n;
    r.sampling.temperature = 0.8;
    r.sampling.logprobs = 2;
    return r;
  }
  std::vector<Request> neighbours(unsigned n = 4) {
    std::vector<Request> others;
    for (unsigned i = 0; i < n; ++i) others.push_back(request(17 + i, 50 + i, 24));
    return others;
  }
  Config config(std::int64_t budget) {
    Config c;
    c.scheduling.max_batched_tokens = budget;
    c.model_key = 7;
    return c;
  }
  std::unique_ptr<Engine> engine(std::int64_t budget, std::int64_t kv_tokens = 2048) {
    return make(config(budget), kv_tokens, pages_);
  }
  std::unique_ptr<Engine> speculating(const std::string& method, int branches = 1) {
    auto made = engine(64);
    made->speculate(method == "ngram"
                        ? draft::make_drafter("ngram", {.values = OptionValues().set("ngram_min", 1.0)}).or_throw()
                        : drafter(method, pages_),
                    SpeculationConfig{.tokens = 4, .adaptive = false, .max_branches = branches});
    return made;
  }
  static Answers run(Engine& engine, const Request& request, const std::vector<Request>& others = {}) {
    const RequestId id = engine.submit(request).or_throw();
    for (const Request& other : others) engine.submit(other).or_throw();
    Answers answers = drain(engine, id);
    engine.check_integrity();
    return answers;
  }
  Answers plain(int n = 1) { return run(*engine(512), asked(n)); }

  static void expect_same(const Answers& found, const Answers& expected, const std::string& what) {
    ASSERT_EQ(found.size(), expected.size()) << what;
    for (const auto& [choice, answer] : expected) {
      EXPECT_EQ(found.at(choice).tokens, answer.tokens) << what;
      EXPECT_EQ(found.at(choice).scores, answer.scores) << what;
    }
  }

  backend::KvFormat pages_ = backend::cpu::choose_pages("bf16", "vector16", 16).or_throw();
};

TEST_P(FamilyEngine, ChunksAndNeighboursChangeNoBit) {
  const Answers expected = plain();
  expect_same(run(*engine(5), asked()), expected, "chunks of 5 tokens");
  expect_same(run(*engine(11), asked(), neighbours()), expected, "in a batch");
  depth_ = 3;
  expect_same(run(*engine(11), asked(), neighbours()), expected, "steps in flight");
}

TEST_P(FamilyEngine, APreemptedAnswerGoesOn) {
  const Answers expected = plain();
  for (const bool swaps : {false, true}) {
    Config c = config(48);
    c.swap_bytes = swaps ? 1 << 20 : 0;
    if (swaps) c.preemption = Preemption::kSwap;
    window_pages_ =
        2 * kPages;  // enough for all three: where they are short, answers wait (resources/window_growth.cc)
    const auto tight = make(c, kPages * 16, pages_);
    for (const Request& older : neighbours(2)) tight->submit(older).or_throw();
    expect_same(run(*tight, asked()), expected, swaps ? "swapped" : "computed again");
    EXPECT_GT(tight->counters().preemptions, 0);
    EXPECT_EQ(tight->counters().swaps > 0, swaps);
  }
}

TEST_P(FamilyEngine, APrefixThatIsThereIsTheOneThatIsComputed) {
  const Answers expected = plain();
  const auto warm = engine(64);
  run(*warm, asked());  // as long as the other: where rotations depend on the length, so do prefixes
  expect_same(run(*warm, asked()), expected, "prefix hit");
  EXPECT_GT(warm->counters().cached_tokens, 0);
}

TEST_P(FamilyEngine, SeveralAnswersAreThoseOfEachAlone) {
  const Answers expected = plain(3);
  expect_same(run(*engine(9), asked(3), neighbours()), expected, "three answers");
  expect_same({{0, expected.at(0)}}, plain(), "the first of three");
}

TEST_P(FamilyEngine, SpeculationChangesNoBit) {
  const Answers expected = plain();
  std::int64_t rejected = 0;
  for (const std::string method : {"ngram", "draft-model", "early-exit"}) {
    const auto guessing = speculating(method);
    expect_same(run(*guessing, asked(), neighbours()), expected, method);
    rejected += guessing->counters().drafted_tokens - guessing->counters().accepted_tokens;
  }
  const auto branching = speculating("ngram", draft::kMaxBranches);
  expect_same(run(*branching, asked(), neighbours()), expected, "branches");
  EXPECT_GT(rejected, 0) << "nothing was taken back";
}

TEST_P(FamilyEngine, ASessionThatIsRolledBackGoesOnFromThere) {
  const auto one = engine(64);
  const SessionId session = one->sessions().open();
  Request first = asked();
  first.session = session;
  run(*one, first);
  ASSERT_TRUE(one->sessions().rollback(session, 26));
  Request second = request(5, 9, kFamilyAnswer);
  second.sampling.logprobs = 2;
  Request whole = second;
  whole.tokens = asked().tokens;
  whole.tokens.insert(whole.tokens.end(), second.tokens.begin(), second.tokens.end());
  second.session = session;
  second.append_to_session = true;
  expect_same(run(*one, second), run(*engine(512), whole), "rolled back");
}

TEST_P(FamilyEngine, ASequenceThatMovesGoesOn) {
  const Answers expected = plain();
  Config other = config(12);
  other.first_id = 1000;
  std::unique_ptr<Engine> engines[] = {engine(12), make(other, 2048, pages_)};
  Answers answers;
  RequestId id = engines[0]->submit(asked()).or_throw();
  const auto collect = [&](const std::vector<Output>& outputs) {
    for (const Output& output : outputs) {
      if (output.token) answers[output.choice].tokens.push_back(*output.token);
      if (output.score) answers[output.choice].scores.push_back(*output.score);
    }
  };
  int moves = 0;
  for (std::size_t at = 0; !engines[at]->idle();) {
    collect(engines[at]->step());
    if (engines[at]->idle()) break;
    std::vector<Output> outputs;
    const auto bytes = to_bytes(engines[at]->transfers().export_sequence(id, outputs).or_throw());
    collect(outputs);
    at = 1 - at;
    id = engines[at]->transfers().import_sequence(sequence_from_bytes(bytes).or_throw()).or_throw().request;
    ++moves;
  }
  expect_same(answers, expected, "moved after each step");
  EXPECT_GT(moves, kFamilyAnswer);
}

// A model that rotates long sequences otherwise than short ones: the choice is made by what a request may grow to, and
// pages of the one are none of the other.
class RopeLengthEngine : public EngineTest {
 protected:
  RopeLengthEngine() : EngineTest(std::string(MILLRACE_TEST_DATA) + "/../golden/families/phi3_longrope") {}
  static std::map<int, Collected> run(Engine& engine, const Request& asked, const std::vector<Request>& others = {}) {
    const RequestId id = engine.submit(asked).or_throw();
    for (const Request& other : others) engine.submit(other).or_throw();
    return drain(engine, id);
  }
  Request asked(std::int64_t answer) {
    Request r = request(16, 4, answer);
    r.sampling.logprobs = 2;
    return r;
  }
};

TEST_F(RopeLengthEngine, ChoosesAtAdmission) {
  const Request small = asked(8), large = asked(40);  // up to 24 tokens, which is the original context, and beyond
  const auto alone_small = run(*make(), small), alone_large = run(*make(), large);
  EXPECT_NE(alone_small.at(0).scores[0], alone_large.at(0).scores[0]);
  const auto shared = make();
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(run(*shared, large, {small, request(30, 7, 20)}).at(0).scores, alone_large.at(0).scores);
    EXPECT_EQ(run(*shared, small, {large}).at(0).scores, alone_small.at(0).scores);
  }
  EXPECT_GT(shared->counters().cached_tokens, 0);
  for (const char* method : {"ngram", "draft-model", "early-exit"}) {
    const auto guessing = make();
    guessing->speculate(drafter(method, {}), SpeculationConfig{.tokens = 4, .adaptive = false});
    EXPECT_EQ(run(*guessing, small, {large}).at(0).scores, alone_small.at(0).scores) << method;
  }
}

TEST_F(RopeLengthEngine, ASessionThatGrowsLongIsComputedAgain) {
  const auto engine = make();
  const SessionId session = engine->sessions().open();
  Request first = asked(6), second = request(9, 5, 20);
  first.session = second.session = session;
  second.append_to_session = true;
  second.sampling.logprobs = 2;
  const auto answer = run(*engine, first);
  Request whole = second;
  whole.session.reset();
  whole.append_to_session = false;
  whole.tokens = first.tokens;
  whole.tokens.insert(whole.tokens.end(), answer.at(0).tokens.begin(), answer.at(0).tokens.end());
  whole.tokens.insert(whole.tokens.end(), second.tokens.begin(), second.tokens.end());
  EXPECT_EQ(run(*engine, second).at(0).scores, run(*make(), whole).at(0).scores);
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyEngine, testing::ValuesIn(families()),
                         [](const auto& tested) { return tested.param.filename().string(); });

}  // namespace
}  // namespace millrace::engine
