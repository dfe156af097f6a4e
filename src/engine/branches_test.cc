// Draft trees: several branches are computed in one step, and the answer goes on with the pages of the right one.

#include <cstring>
#include <limits>
#include <optional>

#include "backend/cpu/kv_layout.h"
#include "draft/speculators/testing/made_speculators.h"
#include "draft/testing/forwarding_drafter.h"
#include "engine/forwarding_executor.h"
#include "engine/testing/failing_executor.h"
#include "engine/testing/speculation_fixture.h"
#include "model/make_spec.h"

namespace millrace::engine {
namespace {

// Compares the rows of logits of a step that computes one sequence, also in several chains: as far as a chain is like
// the first one from its beginning on, it gives the same bits. Fails where that is wanted.
class WatchedExecutor final : public ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;
  void launch(StepInput input) override {
    launched_ = input;
    ForwardingExecutor::launch(std::move(input));
  }
  Result<StepResult> wait() override {
    auto result = ForwardingExecutor::wait();
    if (std::exchange(fails_, false)) return make_error(ErrorCode::kInternal, "", "the device is lost");
    if (result) compare(result->logits);
    if (result && breaks_branches_ && launched_.logit_rows.size() == launched_.tokens.size()) {
      result->logits = own_copy(result->logits, spoiled_);
      for (std::size_t b = 1; b < launched_.sequences.size(); ++b) {
        result->logits.row(launched_.sequences[b].first_row)[0] = std::numeric_limits<float>::quiet_NaN();
      }
    }
    return result;
  }
  std::int64_t compared() const noexcept { return compared_; }
  void fail_next() noexcept { fails_ = true; }
  void break_branches() noexcept { breaks_branches_ = true; }  // the last token's row comes out as no numbers in each
  std::size_t sequences() const noexcept { return launched_.sequences.size(); }  // of the last step

 private:
  void compare(const TensorView& logits) {
    if (launched_.logit_rows.size() != launched_.tokens.size()) return;  // a prompt
    for (std::size_t b = 1; b < launched_.sequences.size(); ++b) {
      const StepInput::Rows &main = launched_.sequences[0], &branch = launched_.sequences[b];
      ASSERT_EQ(main.first_position, branch.first_position);
      for (std::int64_t j = 0; j < std::min(main.n_rows, branch.n_rows); ++j) {
        if (token(main.first_row + j) != token(branch.first_row + j)) break;
        ASSERT_EQ(std::memcmp(logits.row(main.first_row + j), logits.row(branch.first_row + j),
                              static_cast<std::size_t>(logits.cols()) * sizeof(float)),
                  0);
        ++compared_;
      }
    }
  }
  std::int32_t token(std::int64_t row) const { return launched_.tokens[static_cast<std::size_t>(row)]; }

  StepInput launched_;
  std::vector<float> spoiled_;
  std::int64_t compared_ = 0;
  bool fails_ = false, breaks_branches_ = false;
};

class BranchesTest : public SpeculationTest {
 protected:
  std::pair<std::unique_ptr<Engine>, WatchedExecutor*> watched_engine(const backend::KvFormat& pages) {
    auto executor =
        std::make_unique<WatchedExecutor>(LocalExecutor::create(transformer_, *backend_, pages, 4096).or_throw());
    WatchedExecutor* watched = executor.get();
    return {Engine::create(std::move(executor), tokenizer_, Env::system(), Config()).or_throw(), watched};
  }

  Oracle::Answers answers_to(const Mix& mix) {
    const auto plain = engine_for(mix);
    Oracle::Answers known;
    for (const Request& request : mix.requests) {
      known[request.tokens] = drain(*plain, plain->submit(request).or_throw())[0].tokens;
    }
    return known;
  }

  // Guesses of which so many in a hundred are right, each with a branch that is where they are not.
  static void speculate_two_ways(Engine& engine, const Oracle::Answers& known, unsigned right, std::int64_t tokens) {
    auto oracle = std::make_unique<Oracle>(known, right);
    oracle->branch_where_wrong();
    engine.speculate(std::move(oracle), SpeculationConfig{.tokens = tokens, .adaptive = false, .max_branches = 2});
  }
};

TEST_F(BranchesTest, AreTakenWhereTheDraftIsWrongFromItsFirstTokenOn) {
  for (const auto& [layout, block] : {std::pair{"token", 1}, {"vector16", 16}, {"paged32", 32}}) {
    for (const unsigned seed : {2u, 3u}) {  // greedy, sampled
      Mix mix;
      mix.pages = backend::cpu::choose_pages("bf16", layout, block).or_throw();
      mix.requests.push_back(request(29, seed, 61));
      const auto known = answers_to(mix);
      const auto engine = engine_for(mix);
      speculate_two_ways(*engine, known, 0, 1);
      const auto answers = run(*engine, mix);
      EXPECT_EQ(answers.begin()->second.tokens, known.begin()->second) << block;
      // The prompt samples one token; each further step samples two, the first of which only the branch has.
      EXPECT_EQ(engine->counters().steps, 1 + 30) << block;
      EXPECT_GE(engine->counters().accepted_branch_tokens, 28) << block;  // some draft tokens are accepted by chance
      EXPECT_EQ(engine->cache().use().used, 0);
    }
  }
}

TEST_F(BranchesTest, AreTakenWhereverTheDraftBeginsToBeWrong) {
  for (const unsigned right : {30u, 70u, 90u}) {
    Mix mix;
    for (unsigned i = 0; i < 6; ++i) mix.requests.push_back(request(7 + 23 * i, i, 60));
    const auto known = answers_to(mix);
    const auto engine = engine_for(mix), without = engine_for(mix);
    speculate_two_ways(*engine, known, right, 6);
    without->speculate(std::make_unique<Oracle>(known, right), SpeculationConfig{.tokens = 6, .adaptive = false});
    for (const auto& [key, answer] : run(*engine, mix)) {
      EXPECT_EQ(answer.tokens, known.at(mix.requests[known_index(key.first)].tokens)) << right;
    }
    run(*without, mix);
    EXPECT_LT(engine->counters().steps, without->counters().steps) << right;
    EXPECT_GT(engine->counters().accepted_branch_tokens, 50) << right;
  }
}

// Branches of a step in flight hold their pages while the next one is planned.
TEST_F(BranchesTest, PreemptNoMoreWhereStepsAreInFlight) {
  for (const std::int64_t pages : {30, 34, 38, 42, 46, 50, 60}) {
    Mix mix;
    mix.pages = backend::cpu::choose_pages("bf16", "vector16", 16).or_throw();
    mix.kv_tokens = 16 * pages;
    for (unsigned i = 0; i < 6; ++i) mix.requests.push_back(request(7 + 23 * i, i, 60));
    std::optional<std::int64_t> preemptions;  // one step after the other
    for (const int depth : {1, 2, 3}) {
      depth_ = depth;
      const auto known = answers_to(mix);
      const auto engine = engine_for(mix), without = engine_for(mix);
      speculate_two_ways(*engine, known, 30, 6);
      without->speculate(std::make_unique<Oracle>(known, 30), SpeculationConfig{.tokens = 6, .adaptive = false});
      for (const auto& [key, answer] : run(*engine, mix)) {
        EXPECT_EQ(answer.tokens, known.at(mix.requests[known_index(key.first)].tokens)) << depth << " " << pages;
      }
      run(*without, mix);
      EXPECT_LT(engine->counters().steps, without->counters().steps) << depth << " " << pages;
      EXPECT_GT(engine->counters().accepted_branch_tokens, 50) << depth << " " << pages;
      EXPECT_LE(engine->counters().preemptions, preemptions.value_or(2)) << depth << " " << pages;
      preemptions = preemptions.value_or(engine->counters().preemptions);
    }
  }
}

// What was lost is computed again chunk by chunk, and the last token may come while the chunk before it is in flight,
// whose page a branch would copy.
TEST_F(BranchesTest, CopyNoPageThatAStepInFlightWrites) {
  Mix mix;
  mix.pages = backend::cpu::choose_pages("bf16", "paged32", 32).or_throw();
  mix.requests.push_back(request(3, 2, 90));
  const auto known = answers_to(mix);
  for (int failing = 2; failing < 30; ++failing) {
    auto local = LocalExecutor::create(transformer_, *backend_, mix.pages, mix.kv_tokens, 2).or_throw();
    auto executor = std::make_unique<FailingExecutor>(std::move(local), std::set<int>{failing}, true,
                                                      std::byte{0x3c});  // numbers: a branch without is not followed
    Config config;
    config.scheduling.max_batched_tokens = 10;
    const auto engine = Engine::create(std::move(executor), tokenizer_, Env::system(), config).or_throw();
    speculate_two_ways(*engine, known, 30, 3);
    EXPECT_EQ(run(*engine, mix).begin()->second.tokens, known.begin()->second) << failing;
    EXPECT_EQ(engine->counters().failed_steps, 1) << failing;
  }
}

TEST_F(BranchesTest, ChangeNoTokenTextOrScore) {
  for (const unsigned right : {0u, 40u, 80u}) {
    Mix mix;
    for (unsigned i = 0; i < 6; ++i) {
      mix.requests.push_back(request(5 + 23 * i, i, 40));
      mix.requests.back().sampling.logprobs = 2;
      mix.requests.back().sampling.frequency_penalty = i % 3 == 0 ? 0.5 : 0.0;
    }
    mix.requests[3].n = 3;
    mix.requests[4].tokens = mix.requests[5].tokens;
    expect_same(mix, right, false, 4);
    EXPECT_GT(accepted_branch_tokens_, 0) << right;
    expect_same(mix, right, true, 4);
  }
}

TEST_F(BranchesTest, TakeNoPagesThatOthersNeed) {
  for (const auto& [layout, block] : {std::pair{"token", 1}, {"vector16", 16}, {"paged32", 64}}) {
    Mix mix;
    mix.pages = backend::cpu::choose_pages("bf16", layout, block).or_throw();
    mix.kv_tokens = 320;
    mix.budget = 60;
    for (unsigned i = 0; i < 8; ++i) mix.requests.push_back(request(20 + 11 * i, i, 60));
    expect_same(mix, 60, false, 4);
  }
}

TEST_F(BranchesTest, ComputeTheSameBitsAsTheDraftAsFarAsTheyAreAlike) {
  Mix mix;
  mix.requests.push_back(request(45, 1, 60));
  const auto known = answers_to(mix);
  for (const auto& [layout, block] : {std::pair{"token", 1}, {"vector16", 16}, {"paged32", 32}}) {
    const auto pages = backend::cpu::choose_pages("bf16", layout, block).or_throw();
    const auto [engine, watched] = watched_engine(pages);
    engine->speculate(std::make_unique<Oracle>(known, 50),
                      SpeculationConfig{.tokens = 6, .adaptive = false, .max_branches = 4});
    run(*engine, mix);
    EXPECT_GT(watched->compared(), 100);
  }
}

TEST_F(BranchesTest, GiveTheirPagesBackWhereTheRequestIsCancelled) {
  Mix mix;
  for (unsigned i = 0; i < 4; ++i) mix.requests.push_back(request(20 + i, i, 60));
  const auto known = answers_to(mix);
  const auto engine = engine_for(mix);
  speculate_two_ways(*engine, known, 50, 6);
  std::vector<RequestId> ids;
  for (const Request& request : mix.requests) ids.push_back(engine->submit(request).or_throw());
  for (int step = 0; !engine->idle(); ++step) {
    if (step % 3 == 2 && !ids.empty()) {
      engine->cancel(ids.back());
      ids.pop_back();
    }
    engine->step();
    engine->check_integrity();
  }
  EXPECT_EQ(engine->cache().use().used, 0);
}

TEST_F(BranchesTest, GiveTheirPagesBackWhereTheDeviceFailsAndNothingOfThemIsFound) {
  Mix mix;
  mix.requests.push_back(request(20, 2, 60));
  const auto known = answers_to(mix);
  const auto [engine, watched] = watched_engine({});
  speculate_two_ways(*engine, known, 50, 6);
  engine->submit(mix.requests[0]).or_throw();
  while (watched->sequences() < 2) engine->step();  // the next one has a branch as well
  watched->fail_next();
  const auto outputs = engine->step();
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].finish, FinishReason::kError);
  EXPECT_EQ(watched->sequences(), 2u);
  EXPECT_EQ(engine->cache().use().used, 0);
  EXPECT_EQ(engine->cache().use().published, 0);
  EXPECT_EQ(run(*engine, mix).begin()->second.tokens, known.begin()->second);
}

// The row before the one that was sampled from wrote keys and values too, and the answer would go on with them.
TEST_F(BranchesTest, AreNotFollowedWhereARowOfTheirsIsNoNumbers) {
  Mix mix;
  mix.requests.push_back(request(20, 2, 60));
  const auto known = answers_to(mix);
  const auto [engine, watched] = watched_engine({});
  speculate_two_ways(*engine, known, 50, 6);
  watched->break_branches();
  EXPECT_EQ(run(*engine, mix).begin()->second.tokens, known.begin()->second);
  EXPECT_EQ(engine->counters().accepted_branch_tokens, 0);
  EXPECT_EQ(engine->cache().use().used, 0);
}

TEST_F(BranchesTest, AreNoneWhereARequestWantsNoneAndForRulesThatDrawOtherwise) {
  Mix mix;
  mix.requests.push_back(request(20, 2, 40));
  const auto known = answers_to(mix);
  mix.requests[0].draft_branches = 1;
  const auto engine = engine_for(mix);
  speculate_two_ways(*engine, known, 0, 4);
  run(*engine, mix);
  EXPECT_EQ(engine->counters().accepted_branch_tokens, 0);
  mix.requests[0].draft_branches = 5;
  EXPECT_EQ(engine->submit(mix.requests[0]).error().message, "spec_branches is 5: expected 1 to 4");

  mix.requests[0].draft_branches.reset();
  for (const char* rule : {"rejection", "google"}) {
    const auto other = engine_for(mix);
    auto oracle = std::make_unique<Oracle>(known, 0);
    oracle->branch_where_wrong();
    other->speculate(
        std::move(oracle),
        SpeculationConfig{
            .tokens = 4, .adaptive = false, .rule = decode::find_verification_rule(rule), .max_branches = 4});
    EXPECT_EQ(run(*other, mix).begin()->second.tokens, known.begin()->second) << rule;
    EXPECT_EQ(other->counters().accepted_branch_tokens, 0) << rule;
  }
}

// Proposes of another's branches those at the root, or those that leave the draft later.
class SomeBranches final : public draft::ForwardingDrafter {
 public:
  SomeBranches(std::unique_ptr<draft::Drafter> drafter, bool at_root)
      : ForwardingDrafter(std::move(drafter)), at_root_(at_root) {}
  void draft(std::span<draft::Task> tasks) override {
    ForwardingDrafter::draft(tasks);
    for (draft::Task& task : tasks) {
      std::erase_if(task.branches, [&](const draft::Branch& branch) { return (branch.from == 0) != at_root_; });
    }
  }

 private:
  bool at_root_;
};

// The model of the tests, surer of itself, and with some noise on its weights.
std::string sure_model(const std::string& name, float noise) {
  const auto model = checkpoint::open_checkpoint(Env::system(), kModel).or_throw();
  draft::MadeFiles files, random;
  files.copy(*model);
  for (const checkpoint::RawTensor& tensor : model->tensors) {
    const auto& added = random.random(tensor.name, tensor.shape, noise);
    auto values = files.values(tensor.name);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = (values[i] + added[i]) * (tensor.name == "lm_head.weight" ? 6.0f : 1.0f);
    }
    files.add(tensor.name, tensor.shape, std::move(values));
  }
  return files.write(name, draft::made_config("LlamaForCausalLM", 32, 2));
}

class SecondBestTest : public SpeculationTest {
 protected:
  SecondBestTest() : SpeculationTest(sure_model("sure", 0.0f)) {}
};

// What the model samples is often the draft model's second choice.
TEST_F(SecondBestTest, BranchesAreRightAtTheRootAndWithinTheDraft) {
  const auto files = checkpoint::open_checkpoint(Env::system(), sure_model("noisy", 0.015f)).or_throw();
  const auto noisy = std::make_shared<model::Transformer>(*files, model::make_spec(*files).or_throw(), *backend_,
                                                          model::ModelOptions{.max_length = 512});
  Mix mix;
  mix.budget = 90;
  for (unsigned i = 0; i < 8; ++i) mix.requests.push_back(request(20 + 17 * i, i, 60));
  const auto expected = run(*engine_for(mix), mix);
  struct Run {
    std::int64_t steps, accepted, of_branches;
  };
  const auto run_with = [&](int max_branches, std::optional<bool> at_root, bool adaptive) {
    const auto engine = engine_for(mix);
    draft::DrafterOptions options = drafter_options(mix.pages);
    options.model = noisy;
    auto drafter = drafter_of("draft-model", options);
    if (at_root) drafter = std::make_unique<SomeBranches>(std::move(drafter), *at_root);
    engine->speculate(std::move(drafter),
                      SpeculationConfig{.tokens = 6, .adaptive = adaptive, .max_branches = max_branches});
    for (const auto& [key, answer] : run(*engine, mix)) EXPECT_EQ(answer.tokens, expected.at(key).tokens);
    EXPECT_EQ(engine->cache().use().used, 0);
    const EngineCounters& counters = engine->counters();
    return Run{counters.steps, counters.accepted_tokens, counters.accepted_branch_tokens};
  };
  const Run chain = run_with(1, {}, false);
  EXPECT_GT(chain.accepted, 60);  // it is a draft model,
  EXPECT_EQ(chain.of_branches, 0);
  const Run tree = run_with(4, {}, false), root = run_with(4, true, false), later = run_with(4, false, false);
  EXPECT_GT(root.of_branches, 10);
  EXPECT_GT(later.of_branches, 10);
  EXPECT_LT(tree.steps, chain.steps);
  run_with(4, {}, true);
}

TEST_F(BranchesTest, OfEveryDrafterChangeNothingAndAreSometimesRight) {
  Mix mix;
  mix.budget = 90;
  for (unsigned i = 0; i < 6; ++i) {
    mix.requests.push_back(request(30 + 40 * i, i, 60));  // of few letters, so that there is much to be found
    for (std::int32_t& token : mix.requests.back().tokens) token = 3 + token % 4;
    mix.requests.back().sampling.allowed_token_ids = {3, 4, 5, 6};
  }
  const auto expected = run(*engine_for(mix), mix);
  const draft::RandomHeads random{32};
  const std::map<std::string_view, std::string> heads = {
      {"medusa", random.medusa().write("medusa", draft::RandomHeads::medusa_config())},
      {"eagle", random.eagle().write("eagle", random.eagle_config())}};
  for (const char* method : {"ngram", "suffix", "early-exit", "draft-model", "medusa", "eagle"}) {
    const auto engine = engine_for(mix);
    const std::string directory = heads.contains(method) ? heads.at(method) : "";
    engine->speculate(drafter(method, mix.pages, directory),
                      SpeculationConfig{.tokens = 6, .adaptive = false, .max_branches = 4});
    const auto answers = run(*engine, mix);
    for (const auto& [key, answer] : expected) EXPECT_EQ(answers.at(key).tokens, answer.tokens) << method;
    EXPECT_EQ(engine->cache().use().used, 0);
    // The draft model is the model itself: it is never wrong.
    EXPECT_EQ(engine->counters().accepted_branch_tokens > 0, std::string_view(method) != "draft-model") << method;
  }
}

TEST_F(BranchesTest, KeepASessionsPagesRight) {
  const auto plain = make(), engine = make();
  engine->speculate(draft::make_drafter("ngram", {.values = OptionValues().set("ngram_min", 1.0)}).or_throw(),
                    SpeculationConfig{.tokens = 8, .adaptive = false, .max_branches = 4});
  std::vector<std::vector<std::int32_t>> answers[2];
  for (int i = 0; i < 2; ++i) {
    Engine& one = i == 0 ? *plain : *engine;
    const SessionId session = one.sessions().open();
    for (unsigned round = 0; round < 6; ++round) {
      Request r = request(round == 0 ? 40 : 6, round, 30);
      r.session = session;
      r.append_to_session = round > 0;
      one.submit(r).or_throw();
      answers[i].push_back(drain(one).begin()->second.tokens);
    }
  }
  EXPECT_EQ(answers[0], answers[1]);
  EXPECT_GT(engine->counters().accepted_branch_tokens, 0);
}

}  // namespace
}  // namespace millrace::engine
