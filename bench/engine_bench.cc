// What serving costs besides the model, on an executor that computes nothing: scheduling, pages, gathering, greedy
// sampling over a small vocabulary, stop rules, text, outputs. Of a step of 256 decoding sequences, and of whole
// requests none of which finds anything in the prefix cache: the difference is what the cache costs those it does not
// help. And what sampling costs a step of many sequences over a large vocabulary, on one thread and on two.

#include "engine/engine.h"

#include <benchmark/benchmark.h>

#include "backend/device_kind.h"
#include "base/counter_rng.h"
#include "engine/forwarding_executor.h"
#include "engine/load/throughput_run.h"
#include "no_device.h"
#include "text/blank_tokenizer.h"

namespace millrace::engine {
namespace {

constexpr std::int64_t kSequences = 256;

class NoExecutor final : public Executor {
 public:
  NoExecutor(std::int32_t pages, std::int64_t vocabulary) : pages_(pages), vocabulary_(vocabulary) {}
  std::int64_t vocab_size() const noexcept override { return vocabulary_; }
  std::int64_t max_length() const noexcept override { return 1 << 20; }
  std::int64_t block_tokens() const noexcept override { return 32; }
  std::int32_t pages() const noexcept override { return pages_; }
  kv::PageDevice& device() noexcept override { return device_; }
  void launch(engine::StepInput input) override { rows_ = static_cast<std::int64_t>(input.logit_rows.size()); }
  Result<engine::StepResult> wait() override {
    logits_.resize(static_cast<std::size_t>(rows_ * vocabulary_), 1.0f);
    return engine::StepResult{.logits = TensorView(logits_.data(), DType::kF32, {rows_, vocabulary_})};
  }

 private:
  const std::int32_t pages_;
  const std::int64_t vocabulary_;
  kv::NoDevice device_;
  std::int64_t rows_ = 0;
  std::vector<float> logits_;
};

void BM_EngineStep(benchmark::State& state) {
  constexpr std::int64_t kVocabulary = 64;
  Config config;
  config.scheduling = {.max_batched_tokens = 4096, .max_sequences = kSequences};
  config.prefix_caching = state.range(0) != 0;
  const auto engine = Engine::create(std::make_unique<NoExecutor>(1 << 18, kVocabulary),
                                     text::blank_tokenizer(kVocabulary), Env::system(), config)
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

// Few enough pages that every request takes those of an earlier one, and so many tokens that few prompts begin alike.
void BM_RequestsWithoutHits(benchmark::State& state) {
  constexpr std::int64_t kVocabulary = 8192;
  Config config;
  config.scheduling = {.max_batched_tokens = 512, .max_sequences = 32};
  config.prefix_caching = state.range(0) != 0;
  const auto engine = Engine::create(std::make_unique<NoExecutor>(1024, kVocabulary),
                                     text::blank_tokenizer(kVocabulary), Env::system(), config)
                          .or_throw();
  engine::load::ThroughputLoad load{.requests = 256, .concurrency = 32, .input = {128, 512}, .output = {64, 64}};
  for (auto _ : state) {
    ++load.seed;
    benchmark::DoNotOptimize(engine::load::run_throughput(*engine, Env::system(), kVocabulary, load));
  }
  const engine::EngineCounters& counters = engine->counters();
  if (counters.cached_tokens * 1000 > counters.prompt_tokens) state.SkipWithError("prompts were found in the cache");
  state.counters["requests"] = static_cast<double>(load.requests);
  state.SetLabel(state.range(0) != 0 ? "prefixes cached" : "no prefix cache");
}

// Rows of noise, sampled from on the threads of a CPU backend.
class NoiseExecutor final : public ForwardingExecutor {
 public:
  NoiseExecutor(std::unique_ptr<Executor> inner, std::int64_t rows, int threads)
      : ForwardingExecutor(std::move(inner)),
        backend_(backend::find_device("cpu")->make({.threads = threads}).or_throw()),
        logits_(static_cast<std::size_t>(rows * vocab_size())) {
    for (std::size_t i = 0; i < logits_.size(); ++i) {
      logits_[i] = static_cast<float>(rng::mix(i) >> 40) * 0x1p-21f;  // [0, 8)
    }
  }
  void launch(StepInput input) override { rows_ = static_cast<std::int64_t>(input.logit_rows.size()); }
  Result<StepResult> wait() override {
    return StepResult{.logits = TensorView(logits_.data(), DType::kF32, {rows_, vocab_size()})};
  }
  void for_each(std::int64_t items, const std::function<void(std::int64_t)>& item) override {
    backend_->for_each(items, item);
  }

 private:
  std::unique_ptr<backend::Backend> backend_;
  std::vector<float> logits_;
  std::int64_t rows_ = 0;
};

// range(0): threads; range(1): with top_k and top_p.
void BM_SamplingStep(benchmark::State& state) {
  constexpr std::int64_t kVocabulary = 128 * 1024, kRows = 64;
  Config config;
  config.scheduling = {.max_batched_tokens = 4096, .max_sequences = kRows};
  const auto engine = Engine::create(std::make_unique<NoiseExecutor>(std::make_unique<NoExecutor>(1 << 14, kVocabulary),
                                                                     kRows, static_cast<int>(state.range(0))),
                                     text::blank_tokenizer(kVocabulary), Env::system(), config)
                          .or_throw();
  for (std::int64_t i = 0; i < kRows; ++i) {
    Request request;
    request.tokens.assign(8, static_cast<std::int32_t>(i));
    request.sampling.temperature = 0.8;
    request.sampling.seed = static_cast<std::uint64_t>(i);
    if (state.range(1) != 0) {
      request.sampling.top_k = 50;
      request.sampling.top_p = 0.9;
    }
    request.sampling.max_tokens = 5000;
    request.expected_tokens = 1;
    static_cast<void>(engine->submit(std::move(request)).or_throw());
  }
  while (engine->counters().output_tokens < 4 * kRows) engine->step();
  for (auto _ : state) benchmark::DoNotOptimize(engine->step());
  state.SetLabel(state.range(1) != 0 ? "temperature, top_k, top_p" : "temperature");
}

BENCHMARK(BM_EngineStep)->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond)->Iterations(10000);
BENCHMARK(BM_RequestsWithoutHits)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_SamplingStep)->ArgsProduct({{1, 2}, {0, 1}})->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace millrace::engine
