// A backend that gives no more memory: who drafts has taken its own at the start, a step that wants more fails alone.

#include "backend/cpu/kv_layout.h"
#include "backend/forwarding_backend.h"
#include "base/log.h"
#include "draft/speculators/testing/made_speculators.h"
#include "draft/testing/forwarding_drafter.h"
#include "engine/testing/speculation_fixture.h"

namespace millrace::engine {
namespace {

// As many allocations as are left go well.
class MeagreBackend final : public backend::ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  std::int64_t left = 1 << 20, rejected = 0;

  Result<backend::DeviceBuffer> allocate(std::size_t bytes) override {
    if (left-- > 0) return ForwardingBackend::allocate(bytes);
    ++rejected;
    return make_error(ErrorCode::kResourceExhausted, "memory", "cannot allocate {} bytes of memory", bytes);
  }
};

struct Method {
  std::string name, heads;
};

using Answers = std::vector<std::vector<std::int32_t>>;

// On the model that goes round every draft token of a speculator is accepted.
class ShortMemoryTest : public EngineTest {
 protected:
  ShortMemoryTest()
      : EngineTest(draft::Round::target(), std::make_unique<MeagreBackend>(backend::make_test_backend(2))),
        memory_(static_cast<MeagreBackend&>(*backend_)) {
    log::set_level(log::Level::kError);
  }
  ~ShortMemoryTest() override { log::set_level(log::Level::kInfo); }

  std::vector<Request> requests() {
    std::vector<Request> all;
    for (unsigned i = 0; i < 6; ++i) all.push_back(request(5 + 29 * i, 2 * i, 40));
    return all;
  }
  static Answers run(Engine& engine, const std::vector<Request>& requests) {
    for (const Request& request : requests) engine.submit(request).or_throw();
    Answers answers;
    for (const auto& [id, answer] : drain(engine)) {
      EXPECT_FALSE(answer.last.error) << answer.last.error->message;
      answers.push_back(answer.tokens);
    }
    return answers;
  }

  MeagreBackend& memory_;
  const std::vector<Method> methods_ = {{"draft-model", ""},
                                        {"early-exit", ""},
                                        {"medusa", draft::Round::medusa()},
                                        {"eagle", draft::Round::eagle()},
                                        {"eagle", draft::Round::eagle3()},
                                        {"mtp", ""}};
  backend::KvFormat pages_ = backend::cpu::choose_pages("bf16", "paged32", 32).or_throw();
};

TEST_F(ShortMemoryTest, StepsThatDraftAllocateNothing) {
  transformer_.reserve(512, 512);
  const Answers plain = run(*make(40, 4096, pages_), requests());
  for (const Method& method : methods_) {
    SpeculationConfig config{4, false};
    config.max_branches = draft::kMaxBranches;
    const auto engine = make(40, 4096, pages_);
    engine->speculate(drafter(method.name, pages_, method.heads), config);
    memory_.left = 0;
    EXPECT_EQ(run(*engine, requests()), plain) << method.name;
    EXPECT_EQ(std::exchange(memory_.rejected, 0), 0) << method.name;
    EXPECT_GE(engine->counters().accepted_tokens, 6 * 25) << method.name;
    memory_.left = 1 << 20;
  }
}

TEST_F(ShortMemoryTest, DraftersSayAtTheStartThatThereIsNotEnough) {
  const auto engine = make(40, 4096, pages_);
  for (const Method& method : methods_) {
    const draft::DrafterOptions options = drafter_options(pages_, method.heads);
    std::int64_t enough = 0;
    for (;; ++enough) {
      memory_.left = enough;
      const auto made = draft::make_drafter(method.name, options);
      if (made) break;
      EXPECT_EQ(made.error().code, ErrorCode::kResourceExhausted);
      EXPECT_EQ(made.error().param, "memory") << method.name;
    }
    EXPECT_GE(enough, method.name == "early-exit" ? 0 : 1) << method.name;
    EXPECT_LT(enough, 20) << method.name;
  }
}

TEST_F(ShortMemoryTest, OfAStepLongerThanWasSaidNoStatesAreKept) {
  for (const Method& method : methods_) {
    const Answers plain = run(*make(64, 4096, pages_), requests());
    const auto engine = make(64, 4096, pages_);
    draft::DrafterOptions options = drafter_options(pages_, method.heads);
    options.place.step_tokens = 30;
    engine->speculate(drafter_of(method.name, options), SpeculationConfig{4, false});
    EXPECT_EQ(run(*engine, requests()), plain) << method.name;
    // Round's heads say what is right wherever they have a state.
    if (!method.heads.empty()) {
      EXPECT_EQ(engine->counters().accepted_tokens, engine->counters().drafted_tokens) << method.name;
    }
  }
}

TEST_F(ShortMemoryTest, AStepEndsItsRequestsAloneAndTheNextOneGoesOn) {
  const std::vector<Request> all = requests();
  const Answers plain = run(*make(512, 4096, pages_), {all[0]});
  const auto engine = make(512, 4096, pages_);
  engine->submit(all[5]).or_throw();  // a longer prompt than any before
  memory_.left = 0;
  const auto failed = drain(*engine);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed.begin()->second.last.finish, FinishReason::kError);
  ASSERT_TRUE(failed.begin()->second.last.error);
  EXPECT_EQ(failed.begin()->second.last.error->code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(engine->counters().failed_steps, 1);
  EXPECT_GT(memory_.rejected, 0);
  EXPECT_EQ(run(*engine, {all[0]}), plain);  // fits into what there is
  memory_.left = 1 << 20;
  EXPECT_EQ(run(*engine, {all[5]}).size(), 1u);
  engine->check_integrity();
}

// Wants memory in every other step.
class Greedy final : public draft::ForwardingDrafter {
 public:
  using ForwardingDrafter::ForwardingDrafter;
  void draft(std::span<draft::Task> tasks) override {
    ForwardingDrafter::draft(tasks);
    if (++calls_ % 2 == 0) throw_load_error(ErrorCode::kResourceExhausted, "memory", "no memory");
  }

 private:
  int calls_ = 0;
};

TEST_F(ShortMemoryTest, WhereADrafterHasNoneTheStepGoesOnWithoutGuesses) {
  const Answers plain = run(*make(40, 4096, pages_), requests());
  for (const Method& method : methods_) {
    const auto engine = make(40, 4096, pages_);
    auto greedy = std::make_unique<Greedy>(drafter(method.name, pages_, method.heads));
    engine->speculate(std::move(greedy), SpeculationConfig{4, false});
    EXPECT_EQ(run(*engine, requests()), plain) << method.name;
    EXPECT_GT(engine->counters().accepted_tokens, 6 * 10) << method.name;
    EXPECT_EQ(engine->counters().failed_steps, 0);
  }
}

}  // namespace
}  // namespace millrace::engine
