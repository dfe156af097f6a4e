// Speculators that draft from the model's hidden states: that they are handed the right ones, however a sequence came
// by its pages.

#include "draft/speculators/testing/made_speculators.h"
#include "draft/testing/forwarding_drafter.h"

#include "backend/cpu/kv_layout.h"
#include "engine/snapshot_bytes.h"
#include "engine/testing/engine_fixture.h"

namespace millrace::engine {
namespace {

using draft::RandomHeads;
using draft::Round;

struct SpeculatorMethod {
  std::string name, heads;
};

using SpeculatorAnswers = std::map<std::pair<RequestId, int>, std::vector<std::int32_t>>;

SpeculatorAnswers run(Engine& engine, const std::vector<Request>& requests) {
  for (const Request& request : requests) engine.submit(request).or_throw();
  SpeculatorAnswers answers;
  while (!engine.idle()) {
    for (const Output& output : engine.step()) {
      EXPECT_FALSE(output.error) << output.error->message;
      if (output.token) answers[{output.request, output.choice}].push_back(*output.token);
    }
    engine.check_integrity();
  }
  return answers;
}

// On the model that goes round every draft token is accepted, if it follows on the right state.
class RoundTest : public EngineTest {
 protected:
  RoundTest() : EngineTest(Round::target()) {}

  std::unique_ptr<Engine> engine_with(const SpeculatorMethod& method, std::int64_t budget, std::int64_t kv_tokens,
                                      SpeculationConfig config = {4, false}) {
    auto engine = make(budget, kv_tokens, pages_);
    engine->speculate(drafter(method.name, pages_, method.heads), config);
    return engine;
  }
  std::vector<Request> requests(std::size_t n, std::int64_t answer) {
    std::vector<Request> all;
    for (unsigned i = 0; i < n; ++i) {
      all.push_back(request(5 + 29 * i, i, answer));
      if (i % 2 == 1) all.back().sampling.temperature = 1.0;
    }
    return all;
  }
  static void expect_all_right(const Engine& engine, std::int64_t at_least, const std::string& what) {
    EXPECT_GE(engine.counters().drafted_tokens, at_least) << what;
    EXPECT_EQ(engine.counters().accepted_tokens, engine.counters().drafted_tokens) << what;
  }

  const std::vector<SpeculatorMethod> methods_ = {
      {"medusa", Round::medusa()}, {"eagle", Round::eagle()}, {"eagle", Round::eagle3()}, {"mtp", ""}};
  backend::KvFormat pages_ = backend::cpu::choose_pages("bf16", "paged32", 32).or_throw();
};

TEST_F(RoundTest, EveryGuessIsRightInABatchOfChunkedPromptsByEveryRule) {
  for (const SpeculatorMethod& method : methods_) {
    for (const decode::VerificationRule& rule : decode::all_verification_rules()) {
      const auto engine = engine_with(method, 40, 4096, {4, false, &rule});
      const SpeculatorAnswers answers = run(*engine, requests(6, 40));
      for (const auto& [key, tokens] : answers) {
        for (std::size_t i = 1; i < tokens.size(); ++i) ASSERT_EQ(tokens[i], Round::next(tokens[i - 1]));
      }
      expect_all_right(*engine, 6 * 25, method.name + ", " + std::string(rule.name));
    }
  }
}

TEST_F(RoundTest, EveryGuessIsRightAfterPrefixHitsForksAndPreemption) {
  for (const SpeculatorMethod& method : methods_) {
    SCOPED_TRACE(method.heads);
    auto engine = engine_with(method, 64, 4096);
    std::vector<Request> asked = requests(4, 30);
    asked[1].n = 3;
    asked[2].tokens = random_tokens(64, 9);  // ends with a page
    asked[2].n = 3;
    run(*engine, asked);
    asked[0].tokens.insert(asked[0].tokens.end(), {7, 8, 9});
    run(*engine, asked);
    EXPECT_GT(engine->counters().cached_tokens, 100);
    expect_all_right(*engine, 8 * 30, "shared");

    engine = engine_with(method, 64, 512);
    run(*engine, requests(8, 60));
    EXPECT_GT(engine->counters().preemptions, 0);
    expect_all_right(*engine, 8 * 30, "preempted");
  }
}

// The states go to host memory with the keys and values: drafting goes on where it was.
TEST_F(RoundTest, NoDraftIsLostWithPagesThatAreSwappedOut) {
  for (const SpeculatorMethod& method : methods_) {
    SCOPED_TRACE(method.heads);
    const auto drafted = [&](std::int64_t kv_tokens, bool swaps) {
      Config config;
      config.scheduling.max_batched_tokens = 64;
      config.preemption = Preemption::kSwap;
      config.swap_bytes = 64 << 20;
      const auto engine = make(config, kv_tokens, pages_);
      engine->speculate(drafter(method.name, pages_, method.heads), {4, false});
      std::vector<Request> asked = requests(8, 200);
      for (unsigned i = 0; i < asked.size(); ++i) asked[i].tokens = random_tokens(30, i);
      run(*engine, asked);
      EXPECT_EQ(engine->counters().swaps > 2, swaps) << engine->counters().swaps;
      EXPECT_EQ(engine->counters().accepted_tokens, engine->counters().drafted_tokens);
      return engine->counters().drafted_tokens;
    };
    const std::int64_t undisturbed = drafted(4096, false);
    EXPECT_GE(drafted(512, true), undisturbed * 9 / 10) << "of " << undisturbed;
  }
}

// Nor on the way between two engines; one whose drafter keeps something else, or that has none, goes on without.
TEST_F(RoundTest, NoDraftIsLostBetweenEnginesThatDraftAlike) {
  const auto moved = [&](const SpeculatorMethod& here, const SpeculatorMethod& there) {
    Config config;
    config.scheduling.max_batched_tokens = 64;
    std::unique_ptr<Engine> engines[2];
    for (int i = 0; i < 2; ++i) {
      config.first_id = i == 0 ? 1 : 1000;
      engines[i] = make(config, 4096, pages_);
      const SpeculatorMethod& method = i == 0 ? here : there;
      if (!method.name.empty()) engines[i]->speculate(drafter(method.name, pages_, method.heads), {4, false});
    }
    RequestId id = engines[0]->submit(requests(2, 60)[1]).or_throw();
    std::vector<std::int32_t> tokens;
    const auto take = [&](const std::vector<Output>& outputs) {
      for (const Output& output : outputs) {
        if (output.token) tokens.push_back(*output.token);
      }
    };
    while (tokens.size() < 10) take(engines[0]->step());
    const std::int64_t drafted_before = engines[0]->counters().drafted_tokens;
    EXPECT_GT(drafted_before, 0);
    std::vector<Output> outputs;
    const auto bytes = to_bytes(engines[0]->transfers().export_sequence(id, outputs).or_throw());
    take(outputs);
    id = engines[1]->transfers().import_sequence(sequence_from_bytes(bytes).or_throw()).or_throw().request;
    while (!engines[1]->idle()) take(engines[1]->step());
    EXPECT_EQ(tokens.size(), 60u);
    for (std::size_t i = 1; i < tokens.size(); ++i) EXPECT_EQ(tokens[i], Round::next(tokens[i - 1]));
    EXPECT_EQ(engines[1]->counters().accepted_tokens, engines[1]->counters().drafted_tokens);
    return engines[1]->counters().drafted_tokens;
  };
  for (const SpeculatorMethod& method : methods_)
    EXPECT_GE(moved(method, method), 35) << method.name << " " << method.heads;
  EXPECT_EQ(moved(methods_[1], methods_[2]), 0) << "the states of another speculator";
  EXPECT_EQ(moved(methods_[1], {}), 0);
}

TEST_F(RoundTest, EveryGuessIsRightInASessionThatGoesOnAndForks) {
  for (const SpeculatorMethod& method : methods_) {
    SCOPED_TRACE(method.heads);
    const auto engine = engine_with(method, 64, 4096);
    const SessionId session = engine->sessions().open();
    for (unsigned round = 0; round < 3; ++round) {
      Request one = request(round == 0 ? 45 : 6, round, 30);
      one.session = session;
      one.append_to_session = round > 0;
      run(*engine, {one});
    }
    Request other = request(5, 7, 30);
    other.session = engine->sessions().fork(session).or_throw();
    other.append_to_session = true;
    run(*engine, {other});
    expect_all_right(*engine, 70, "session");
  }
}

// The answer goes on from the pages of the chain that was right, and its states lie there.
TEST_F(RoundTest, EveryGuessIsRightBesideBranchesThatAreWrong) {
  for (const SpeculatorMethod& method : methods_) {
    SpeculationConfig config{4, false};
    config.max_branches = draft::kMaxBranches;
    const auto engine = engine_with(method, 64, 4096, config);
    for (const auto& [key, tokens] : run(*engine, requests(6, 40))) {
      for (std::size_t i = 1; i < tokens.size(); ++i) ASSERT_EQ(tokens[i], Round::next(tokens[i - 1]));
    }
    EXPECT_GE(engine->counters().accepted_tokens, 6 * 25) << method.name;
  }
}

// Shows each state one row too late.
class Late final : public model::HiddenStateHook {
 public:
  Late(model::HiddenStateHook& hook, backend::Backend& backend) : hook_(hook), backend_(backend) {}
  std::span<const std::int64_t> layers() const noexcept override { return hook_.layers(); }
  void pass(std::int64_t layer, const backend::DeviceView& residual) override {
    backend_.synchronize();
    std::vector<float>& rows = rows_[layer];
    const auto width = static_cast<std::size_t>(residual.cols()), n = static_cast<std::size_t>(residual.rows());
    rows.erase(rows.begin(), rows.end() - static_cast<std::ptrdiff_t>(std::min(rows.size(), width)));
    rows.resize(width);
    const backend::HostView seen = backend_.host_view(residual);
    rows.insert(rows.end(), seen.view().row(0), seen.view().row(0) + n * width);
    shown_.push_back(backend_.make_vector(std::span(rows).first(n * width)));
    hook_.pass(layer, backend::DeviceView(shown_.back().address(), DType::kF32, residual.shape));
  }
  void computed(const model::BatchInput& input) override { hook_.computed(input); }

 private:
  model::HiddenStateHook& hook_;
  backend::Backend& backend_;
  std::vector<backend::DeviceVector> shown_;
  std::map<std::int64_t, std::vector<float>> rows_;  // of the last step, behind the row before
};

// A drafter that sees each state a row too late.
class Misled final : public draft::ForwardingDrafter {
 public:
  Misled(std::unique_ptr<draft::Drafter> drafter, backend::Backend& backend)
      : ForwardingDrafter(std::move(drafter)), late_(*inner().hook(), backend) {}
  model::HiddenStateHook* hook() noexcept override { return &late_; }

 private:
  Late late_;
};

TEST_F(RoundTest, GuessesFromTheStateBeforeAreNeverRight) {
  for (const SpeculatorMethod& method : methods_) {
    SCOPED_TRACE(method.heads);
    const auto engine = make(512, 4096, pages_);
    engine->speculate(std::make_unique<Misled>(drafter(method.name, pages_, method.heads), *backend_),
                      SpeculationConfig{1, false});
    run(*engine, {request(20, 2, 30)});
    EXPECT_GT(engine->counters().drafted_tokens, 20);
    EXPECT_EQ(engine->counters().accepted_tokens, 0);
  }
}

// Keeps what was drafted after which tokens.
class Remembering final : public draft::ForwardingDrafter {
 public:
  using DraftTokens = std::map<std::vector<std::int32_t>, std::vector<std::int32_t>>;
  Remembering(std::unique_ptr<draft::Drafter> drafter, DraftTokens& draft_tokens)
      : ForwardingDrafter(std::move(drafter)), draft_tokens_(draft_tokens) {}

  void draft(std::span<draft::Task> tasks) override {
    ForwardingDrafter::draft(tasks);
    for (const draft::Task& task : tasks) {
      std::vector<std::int32_t> tokens;
      for (const draft::Token& draft_token : task.drafts) tokens.push_back(draft_token.token);
      if (!tokens.empty()) draft_tokens_[{task.tokens.begin(), task.tokens.end()}] = std::move(tokens);
    }
  }

 private:
  DraftTokens& draft_tokens_;
};

std::string model_with_speculator() {
  draft::MadeFiles files;
  files.copy(*checkpoint::open_checkpoint(Env::system(), kModel).or_throw());
  RandomHeads{32}.add_mtp(files);
  return files.write("random", draft::made_config("MiMoForCausalLM", 32, 2));
}

class RandomSpeculatorsTest : public EngineTest {
 protected:
  RandomSpeculatorsTest() : EngineTest(model_with_speculator()) {}

  Remembering::DraftTokens draft_tokens(const SpeculatorMethod& method, std::int64_t budget, std::int64_t kv_tokens,
                                        const std::vector<std::vector<Request>>& rounds, SpeculatorAnswers& answers) {
    Remembering::DraftTokens draft_tokens;
    const auto engine = make(budget, kv_tokens, pages_);
    auto made = std::make_unique<Remembering>(drafter(method.name, pages_, method.heads), draft_tokens);
    engine->speculate(std::move(made), SpeculationConfig{3, false});
    for (const std::vector<Request>& requests : rounds) answers.merge(run(*engine, requests));
    preemptions_ += engine->counters().preemptions;
    return draft_tokens;
  }

  const RandomHeads heads_{32};
  const std::vector<SpeculatorMethod> methods_ = {
      {"medusa", heads_.medusa().write("medusa", RandomHeads::medusa_config())},
      {"eagle", heads_.eagle().write("eagle", heads_.eagle_config())},
      {"eagle", heads_.eagle3().write("eagle3", heads_.eagle3_config())},
      {"mtp", ""}};
  backend::KvFormat pages_ = backend::cpu::choose_pages("f32", "paged32", 32).or_throw();
  std::int64_t preemptions_ = 0;
};

TEST_F(RandomSpeculatorsTest, ChangeNoTokenInChainsOrTrees) {
  std::vector<Request> requests;
  for (unsigned i = 0; i < 6; ++i) requests.push_back(request(7 + 13 * i, i, 60));
  requests[2].n = 3;
  const SpeculatorAnswers plain = run(*make(33, 4096, pages_), requests);
  for (const SpeculatorMethod& method : methods_) {
    for (const int max_branches : {1, draft::kMaxBranches}) {
      SpeculationConfig config{3, false};
      config.max_branches = max_branches;
      const auto engine = make(33, 352, pages_);
      engine->speculate(drafter(method.name, pages_, method.heads), config);
      EXPECT_EQ(run(*engine, requests), plain) << method.heads << " " << max_branches;
      EXPECT_GT(engine->counters().drafted_tokens, 100) << method.heads;
    }
  }
}

// Random heads with attention are seldom right, but what they draft after the same tokens is the same however those
// were computed, but for a row between two pages that others left (feature_drafter.cc).
TEST_F(RandomSpeculatorsTest, GuessTheSameAloneAndInABatchChunkedSharedOrPreempted) {
  std::vector<Request> requests;
  for (unsigned i = 0; i < 6; ++i) requests.push_back(request(7 + 13 * i, i, 60));
  for (const SpeculatorMethod& method : methods_) {
    SCOPED_TRACE(method.heads);
    SpeculatorAnswers answers, others;
    const auto alone = draft_tokens(
        method, 512, 4096, {{requests[0]}, {requests[1]}, {requests[2]}, {requests[3]}, {requests[4]}, {requests[5]}},
        answers);
    EXPECT_GT(alone.size(), 6u * 40);
    for (const std::int64_t kv_tokens : {4096, 288}) {
      others.clear();
      const auto together = draft_tokens(method, 33, kv_tokens, {requests, requests}, others);
      EXPECT_GT(together.size(), 6u * 30);
      std::size_t same = 0, both = 0;
      for (const auto& [tokens, drafted] : together) {
        const auto known = alone.find(tokens);
        if (known == alone.end()) continue;
        ++both;
        same += known->second == drafted ? 1 : 0;
      }
      EXPECT_GT(both, 6u * 30) << kv_tokens;
      EXPECT_EQ(same, both) << kv_tokens;
    }
    EXPECT_GT(std::exchange(preemptions_, 0), 0);
  }
}

// A model of one layer over a window, and a head that is that layer: both make the same states of the last 8 tokens.
std::string windowed_model() {
  draft::MadeFiles files;
  constexpr std::int64_t kHidden = 32;
  for (float& v : files.random("model.embed_tokens.weight", Shape{64, kHidden})) v = v < 0.0f ? -1.0f : 1.0f;
  draft::add_layer(files, "model.layers.0.", kHidden, kHidden, true);
  files.constant("model.layers.0.input_layernorm.weight", Shape{kHidden}, 1.0f);
  files.constant("model.norm.weight", Shape{kHidden}, 1.0f);
  files.random("lm_head.weight", Shape{64, kHidden}, 1.0f);
  const std::string layer = "model.layers.0.", head = "model.mtp_layers.0.";
  draft::add_layer(files, head, kHidden, kHidden, true);
  for (const char* name :
       {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj",
        "mlp.down_proj", "post_attention_layernorm", "input_layernorm"}) {
    const std::string tensor = std::string(name) + ".weight";
    const Shape shape = files.shape(layer + tensor);
    files.add(head + tensor, shape, files.values(layer + tensor));
  }
  for (const char* norm : {"token_layernorm", "hidden_layernorm", "final_layernorm"}) {
    files.constant(head + norm + ".weight", Shape{kHidden}, 1.0f);
  }
  auto& projection = files.constant(head + "input_proj.weight", Shape{kHidden, 2 * kHidden}, 0.0f);
  for (std::size_t i = 0; i < kHidden; ++i) projection[i * 2 * kHidden + kHidden + i] = 1.0f;
  return files.write("windowed", draft::made_config("MiMoForCausalLM", kHidden, 1, R"(, "sliding_window": 8)"));
}

class WindowedTest : public EngineTest {
 protected:
  WindowedTest() : EngineTest(windowed_model()) {}
};

TEST_F(WindowedTest, AHeadThatIsTheModelsLayerIsRightAboutEveryTokenAlsoSampled) {
  const backend::KvFormat pages = backend::cpu::choose_pages("f32", "paged32", 32).or_throw();
  std::vector<Request> requests;
  for (unsigned i = 0; i < 6; ++i) {
    requests.push_back(request(12 + 37 * i, i, 60));
    if (i % 2 == 1) requests.back().sampling.temperature = 1.0;
  }
  requests[3].n = 3;
  const SpeculatorAnswers plain = run(*make(40, 4096, pages), requests);
  for (const std::int64_t kv_tokens : {4096, 384}) {
    const auto engine = make(40, kv_tokens, pages);
    engine->speculate(drafter("mtp", pages), SpeculationConfig{4, false});
    const SpeculatorAnswers answers = run(*engine, requests);
    EXPECT_EQ(answers, plain);
    EXPECT_GT(engine->counters().drafted_tokens, 8 * 35);
    // Sums in another order: two logits may change places.
    EXPECT_GE(engine->counters().accepted_tokens, engine->counters().drafted_tokens * 98 / 100);
  }
}

}  // namespace
}  // namespace millrace::engine
