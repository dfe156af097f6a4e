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
};

class StepInputTest : public EngineTest {
 protected:
  std::unique_ptr<Engine> make_wired() {
    Config config;
    config.scheduling.max_batched_tokens = 40;
    auto executor = LocalExecutor::create(transformer_, *backend_, {}, 4096).or_throw();
    return Engine::create(std::make_unique<WireExecutor>(std::move(executor)), tokenizer_, Env::system(), config)
        .or_throw();
  }
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
    std::vector<std::vector<std::int32_t>> tokens;
    std::vector<std::vector<TokenScore>> scores;
    std::vector<std::vector<float>> embeddings;
    while (!engine.idle()) {
      for (const Output& output : engine.step()) {
        tokens.push_back({static_cast<std::int32_t>(output.request), output.choice, output.token.value_or(-1)});
        scores.push_back(output.prompt_scores);
        embeddings.push_back(output.embedding);
      }
    }
    return std::tuple(tokens, scores, embeddings);
  };
  const auto local = make(40), wired = make_wired();
  EXPECT_EQ(run(*wired), run(*local));
}

}  // namespace
}  // namespace millrace::engine
