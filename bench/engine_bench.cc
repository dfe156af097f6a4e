// What a step costs besides the model: 256 decoding sequences on an executor that computes nothing. Scheduling, pages,
// gathering, greedy sampling over a small vocabulary, stop rules, text, outputs.

#include "engine/engine.h"

#include <benchmark/benchmark.h>

#include "loadgen/blank_tokenizer.h"
#include "no_device.h"

namespace millrace::engine {
namespace {

constexpr std::int64_t kVocabulary = 64, kSequences = 256;

class NoExecutor final : public Executor {
 public:
  std::int64_t vocab_size() const noexcept override { return kVocabulary; }
  std::int64_t max_length() const noexcept override { return 1 << 20; }
  std::int64_t block_tokens() const noexcept override { return 32; }
  std::int32_t pages() const noexcept override { return 1 << 18; }
  kv::PageDevice& device() noexcept override { return device_; }
  void launch(model::BatchInput input) override { rows_ = static_cast<std::int64_t>(input.logit_rows.size()); }
  Result<TensorView> wait() override {
    logits_.resize(static_cast<std::size_t>(rows_ * kVocabulary), 1.0f);
    return TensorView(logits_.data(), DType::kF32, {rows_, kVocabulary});
  }

 private:
  kv::NoDevice device_;
  std::int64_t rows_ = 0;
  std::vector<float> logits_;
};

void BM_EngineStep(benchmark::State& state) {
  Config config;
  config.scheduling = {.max_batched_tokens = 4096, .max_sequences = kSequences};
  config.prefix_caching = state.range(0) != 0;
  const auto engine =
      Engine::create(std::make_unique<NoExecutor>(), loadgen::blank_tokenizer(kVocabulary), Env::system(), config)
          .or_throw();
  for (std::int64_t i = 0; i < kSequences; ++i) {
    Request request;
    request.tokens.assign(100, static_cast<std::int32_t>(i % kVocabulary));
    request.tokens[0] = static_cast<std::int32_t>(i / kVocabulary);
    request.sampling.temperature = 0.0;
    request.sampling.max_tokens = 20000;
    request.expected_tokens = 1;
    static_cast<void>(engine->submit(std::move(request)).or_throw());
  }
  while (engine->counters().output_tokens < 4 * kSequences) engine->step();
  const std::int64_t before = engine->counters().output_tokens;
  for (auto _ : state) benchmark::DoNotOptimize(engine->step());
  state.counters["tokens"] =
      static_cast<double>(engine->counters().output_tokens - before) / static_cast<double>(state.iterations());
  state.SetLabel(state.range(0) != 0 ? "prefixes cached" : "no prefix cache");
}
BENCHMARK(BM_EngineStep)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond)->Iterations(10000);

}  // namespace
}  // namespace millrace::engine
