// Steps that travel as bytes to their executor give the bits of those that do not.

#include "engine/step_input.h"

#include "backend/cpu/kv_layout.h"
#include "base/byte_archive.h"
#include "draft/task_bytes.h"
#include "draft/testing/forwarding_drafter.h"
#include "engine/forwarding_executor.h"
#include "engine/testing/engine_fixture.h"

namespace millrace::engine {
namespace {

// As one in another process would get it.
class WireExecutor final : public ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;
  void launch(StepInput input) override {
    fed += std::ssize(input.fed_rows);
    ByteWriter writer;
    writer(input);
    const std::vector<std::byte> bytes = writer.take();
    input = {};
    ByteReader reader(bytes);
    StepInput arrived;
    reader(arrived);
    EXPECT_TRUE(reader.ok());
    EXPECT_EQ(reader.left(), 0u);
    ForwardingExecutor::launch(std::move(arrived));
  }
  std::int64_t fed = 0;  // rows
};

// Drafts as if in another process, beside the executor that computes there.
class WireDrafter final : public draft::ForwardingDrafter {
 public:
  WireDrafter(std::unique_ptr<draft::Drafter> inner, const draft::ReceivedTasks::Limits& limits)
      : ForwardingDrafter(std::move(inner)), limits_(limits) {}
  void draft(std::span<draft::Task> tasks) override {
    const auto sent = draft::to_bytes(tasks);
    auto received = draft::ReceivedTasks::read(sent, limits_).or_throw();
    ForwardingDrafter::draft(received.tasks());
    draft::read_drafts(draft::drafts_to_bytes(received.tasks()), limits_.vocab_size, tasks).or_throw();
  }

 private:
  draft::ReceivedTasks::Limits limits_;
};

class StepInputTest : public EngineTest {
 protected:
  std::unique_ptr<Engine> make_wired() {
    Config config;
    config.scheduling.max_batched_tokens = 40;
    auto executor = LocalExecutor::create(transformer_, *backend_, {}, 4096, depth_).or_throw();
    auto wire = std::make_unique<WireExecutor>(std::move(executor));
    wire_ = wire.get();
    return Engine::create(std::move(wire), tokenizer_, Env::system(), config).or_throw();
  }

  WireExecutor* wire_ = nullptr;  // of the engine made last
  backend::KvFormat pages_ = backend::cpu::choose_pages("bf16", "paged32", 32).or_throw();
};

TEST_F(StepInputTest, OverAWireAllIsTheSame) {
  std::vector<Request> requests;
  for (unsigned i = 0; i < 4; ++i) requests.push_back(request(20 + 30 * i, i));
  requests[1].prompt_logprobs = 2;
  requests[2].n = 3;
  requests.push_back(request(50, 9));
  requests.back().embed = true;
  const auto run = [&](Engine& engine) {
    for (const Request& r : requests) engine.submit(r).or_throw();
    std::map<std::pair<RequestId, int>, Collected> answers;
    std::vector<std::vector<float>> embeddings;
    while (!engine.idle()) {
      for (Output& output : engine.step()) {
        Collected& answer = answers[{output.request, output.choice}];
        if (output.token) answer.tokens.push_back(*output.token);
        answer.text += output.text;
        answer.scores.insert(answer.scores.end(), output.prompt_scores.begin(), output.prompt_scores.end());
        if (!output.embedding.empty()) embeddings.push_back(output.embedding);
      }
    }
    std::vector<std::tuple<std::vector<std::int32_t>, std::string, std::vector<TokenScore>>> all;
    for (auto& [id, answer] : answers) all.emplace_back(answer.tokens, answer.text, answer.scores);
    return std::pair(all, embeddings);
  };
  const auto local = run(*make(40));
  for (const int depth : {1, 2, 4}) {
    depth_ = depth;
    const auto wired = make_wired();
    EXPECT_EQ(run(*wired), local) << depth;
    EXPECT_EQ(wire_->fed > 0, depth > 1);
  }
}

// Which tokens are drafted, from which distributions and in which branches, by every rule and however is sampled.
TEST_F(StepInputTest, DraftsOverAWireAreTheSame) {
  const auto run = [&](std::string_view method, const decode::VerificationRule& rule, bool wired) {
    const auto engine = make(40, 4096, pages_);
    auto made = drafter(method, pages_);
    if (wired) {
      made = std::make_unique<WireDrafter>(std::move(made),
                                           draft::ReceivedTasks::Limits{.vocab_size = executor_->vocab_size(),
                                                                        .pages = executor_->pages(),
                                                                        .block_tokens = executor_->block_tokens()});
    }
    SpeculationConfig config{.tokens = 5, .adaptive = false, .rule = &rule};
    config.max_branches = draft::kMaxBranches;
    engine->speculate(std::move(made), config);
    for (unsigned i = 0; i < 6; ++i) {
      Request asked = request(20 + 30 * i, i, 30);
      if (i == 2) asked.sampling.repetition_penalty = 1.3;
      if (i == 3) asked.sampling.mirostat_mode = 2;
      if (i == 4) asked.sampling.options.set("top_k", 20.0);
      if (i == 5) asked.sampling.dry_multiplier = 0.8;
      engine->submit(asked).or_throw();
    }
    std::vector<std::vector<std::int32_t>> answers;
    for (const auto& [id, answer] : drain(*engine)) answers.push_back(answer.tokens);
    const EngineCounters& counters = engine->counters();
    EXPECT_GT(counters.accepted_tokens, 0);
    return std::tuple(answers, counters.drafted_tokens, counters.accepted_tokens, counters.steps);
  };
  for (const char* method : {"draft-model", "early-exit"}) {
    for (const decode::VerificationRule& rule : decode::all_verification_rules()) {
      EXPECT_EQ(run(method, rule, true), run(method, rule, false)) << method << " " << rule.name;
    }
  }
}

TEST_F(StepInputTest, TasksAndDraftsThatCannotBeAreRejected) {
  const std::vector<std::int32_t> tokens = random_tokens(20, 1);
  const std::vector<kv::BlockId> pages = {3, 0};
  const decode::LogitsPipeline pipeline({}, 64);
  draft::Task task{.tokens = tokens, .prompt_tokens = 12, .most = 4, .pipeline = &pipeline, .pages = pages};
  const draft::ReceivedTasks::Limits limits{.vocab_size = 64, .pages = 4, .block_tokens = 16};
  const auto error = [&](const draft::Task& sent, std::size_t cut = 0) -> std::string {
    auto bytes = draft::to_bytes(std::span(&sent, 1));
    bytes.resize(bytes.size() - cut);
    const auto read = draft::ReceivedTasks::read(bytes, limits);
    return read ? "" : read.error().param + ": " + read.error().message;
  };
  EXPECT_EQ(error(task), "");
  EXPECT_TRUE(error(task, 3).starts_with("tasks: ")) << error(task, 3);
  const auto with = [&](auto&& change) {
    draft::Task changed = task;
    change(changed);
    return error(changed);
  };
  EXPECT_EQ(with([](draft::Task& t) { t.tokens = {}; }), "tasks: a task has 0 tokens, 12 of them the prompt's");
  EXPECT_EQ(with([](draft::Task& t) { t.prompt_tokens = 21; }), "tasks: a task has 20 tokens, 21 of them the prompt's");
  EXPECT_EQ(with([](draft::Task& t) { t.most = 65; }),
            "tasks: a task wants 65 tokens in 1 branches: the limits are 64 and 4");
  EXPECT_EQ(with([](draft::Task& t) { t.most = 14; }), "tasks: 2 pages do not hold 33 tokens");
  const std::vector<kv::BlockId> foreign = {3, 4};
  EXPECT_EQ(with([&](draft::Task& t) { t.pages = foreign; }), "tasks: page 4 is out of range: there are 4");
  const std::vector<std::int32_t> unknown = {1, 64};
  EXPECT_EQ(with([&](draft::Task& t) { t.tokens = unknown, t.prompt_tokens = 1; }),
            "tasks: token 64 is out of range: the vocabulary has 64");

  const auto rejected = [&](auto&& change) {
    draft::Task drafted = task;
    drafted.drafts = {{5, 0.5f}, {6, 0.5f}};
    change(drafted);
    const auto bytes = draft::drafts_to_bytes(std::span(&drafted, 1));
    draft::Task back = task;
    const auto read = draft::read_drafts(bytes, 64, std::span(&back, 1));
    EXPECT_TRUE(read || back.drafts.empty());
    return !read;
  };
  EXPECT_FALSE(rejected([](draft::Task&) {}));
  EXPECT_TRUE(rejected([](draft::Task& t) { t.drafts[0].token = 64; }));
  EXPECT_TRUE(rejected([](draft::Task& t) { t.drafts.resize(5); }));
  EXPECT_TRUE(rejected([](draft::Task& t) { t.distributions.resize(1); }));
  EXPECT_TRUE(rejected([](draft::Task& t) { t.branches = {{.from = 0, .tokens = {{1, 0.5f}}}}; }));
}

// While a step is waited for, the next ones have a row of the same answer.
TEST_F(StepInputTest, AnAnswerHasARowInEachStepInFlight) {
  depth_ = 3;
  const auto wired = make_wired();
  wired->submit(request(20, 1, 24)).or_throw();
  const auto answer = drain(*wired);
  EXPECT_EQ(answer.begin()->second.tokens.size(), 24u);
  EXPECT_EQ(answer.begin()->second.last.finish, FinishReason::kLength);
  EXPECT_EQ(wire_->fed, 23);
  EXPECT_EQ(wired->counters().steps, 24) << "nothing is computed past the greatest length";
}

// What is not known yet is not waited for where more than the row decides on it.
TEST_F(StepInputTest, AnswersThatNeedMoreThanTheRowAreNotFed) {
  depth_ = 2;
  for (const auto& change : std::vector<std::function<void(Request&)>>{
           [](Request& r) { r.sampling.repetition_penalty = 1.1; }, [](Request& r) { r.sampling.logprobs = 1; },
           [](Request& r) { r.sampling.min_tokens = 3; }, [](Request& r) { r.beams.emplace().width = 2; }}) {
    const auto wired = make_wired();
    Request asked = request(20, 1);
    change(asked);
    wired->submit(asked).or_throw();
    drain(*wired);
    EXPECT_EQ(wire_->fed, 0);
  }
}

}  // namespace
}  // namespace millrace::engine
