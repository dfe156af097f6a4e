// Steps that travel as bytes to their executor give the bits of those that do not.

#include "engine/step_input.h"

#include "base/byte_archive.h"
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
