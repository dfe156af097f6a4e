#include "instant_model.h"

#include <thread>
#include <vector>

#include "../no_device.h"
#include "engine/engine_thread.h"
#include "simulator/letter_tokenizer.h"

namespace millrace::bench {
namespace {

constexpr std::int32_t kAnswer = 5;  // the token that is always drawn: a letter, and no end

class InstantExecutor final : public engine::Executor {
 public:
  explicit InstantExecutor(std::chrono::milliseconds step) : step_(step) {}
  std::int64_t vocab_size() const noexcept override { return simulator::kLetters; }
  std::int64_t max_length() const noexcept override { return 1 << 20; }
  std::int64_t block_tokens() const noexcept override { return 32; }
  std::int32_t pages() const noexcept override { return 1 << 17; }
  kv::PageDevice& device() noexcept override { return device_; }
  void launch(engine::StepInput input) override { rows_ = static_cast<std::int64_t>(input.logit_rows.size()); }
  Result<engine::StepResult> wait() override {
    if (step_.count() > 0) std::this_thread::sleep_for(step_);
    const auto needed = static_cast<std::size_t>(rows_ * simulator::kLetters);
    for (std::size_t at = logits_.size(); at < needed; ++at) {
      logits_.push_back(at % simulator::kLetters == kAnswer ? 1.0f : 0.0f);
    }
    return engine::StepResult{.logits = TensorView(logits_.data(), DType::kF32, {rows_, simulator::kLetters})};
  }

 private:
  const std::chrono::milliseconds step_;
  kv::NoDevice device_;
  std::int64_t rows_ = 0;
  std::vector<float> logits_;
};

}  // namespace

server::ModelEntry instant_model(const InstantConfig& config, server::Observers& observers) {
  server::ModelEntry entry;
  entry.name = "instant";
  entry.load = [config, &observers](const std::function<void(double)>&) {
    engine::Config settings;
    settings.scheduling = {.max_batched_tokens = 1 << 16, .max_sequences = config.max_sequences};
    settings.max_waiting = 2 * config.max_sequences;
    server::ModelParts parts;
    parts.tokenizer = simulator::letter_tokenizer();
    auto engine =
        engine::Engine::create(std::make_unique<InstantExecutor>(config.step), parts.tokenizer, Env::system(), settings)
            .or_throw();
    engine->reporter().observe(observers.watch(
        {.name = "instant", .block_tokens = engine->cache().block_tokens(), .pages = engine->cache().total_pages()}));
    parts.engine = std::make_unique<engine::EngineThread>(std::move(engine), parts.tokenizer, Env::system());
    return parts;
  };
  return entry;
}

}  // namespace millrace::bench
