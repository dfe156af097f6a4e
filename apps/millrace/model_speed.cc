#include "model_speed.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/env.h"
#include "engine/engine.h"
#include "engine/forwarding_executor.h"
#include "engine/load/random_prompt.h"
#include "engine/local_executor.h"
#include "metrics/statistics.h"
#include "number_file.h"
#include "runtime/step_meter.h"
#include "sched/step_cost_estimator.h"
#include "simulator/fake_executor.h"
#include "text/blank_tokenizer.h"

namespace millrace::app {
namespace {

constexpr const char *kRanks = "tensor_parallel", *kPredicted = "predicted";  // in a report of `inspect`
constexpr std::int64_t kSpeedTokens = 4096;                                   // of the KV cache while measuring

// Passes everything on and remembers what the last step computed.
class WatchedExecutor final : public engine::ForwardingExecutor {
 public:
  WatchedExecutor(std::unique_ptr<engine::Executor> inner, sched::StepWork& work)
      : ForwardingExecutor(std::move(inner)), work_(work) {}
  void launch(engine::StepInput input) override {
    work_ = simulator::work_of(input);
    ForwardingExecutor::launch(std::move(input));
  }

 private:
  sched::StepWork& work_;
};

struct Step {
  sched::StepWork work;
  double ms = 0.0;
};

// `n` prompts side by side, then `answer` steps that decode a token of each.
struct Size {
  std::int64_t n, prompt, answer;
};
constexpr Size kSizes[] = {{1, 1, 2},   {1, 8, 10},   {1, 16, 2},  {1, 32, 2},  {1, 64, 2},  {1, 128, 2},
                           {1, 256, 2}, {1, 512, 10}, {2, 16, 10}, {4, 16, 10}, {8, 16, 10}, {16, 16, 8},
                           {32, 16, 8}, {1, 700, 8},  {8, 256, 8}, {24, 8, 6},  {12, 100, 6}};

class SpeedRun {
 public:
  SpeedRun(const LoadedModel& loaded, const ModelFlags& flags, const std::function<void(double)>& progress)
      : progress_(progress),
        vocabulary_(loaded.transformer->spec().vocab_size),
        longest_(loaded.transformer->max_length()) {
    auto local = engine::LocalExecutor::create(*loaded.transformer, *loaded.backend, flags.kv_pages(), kSpeedTokens);
    auto executor = std::make_unique<WatchedExecutor>(std::move(local).or_throw(), work_);
    engine::Config config;
    config.prefix_caching = false;
    engine_ = engine::Engine::create(std::move(executor), text::blank_tokenizer(vocabulary_), Env::system(), config)
                  .or_throw();
  }

  std::vector<Step> run() {
    for (const Size& size : kSizes) measure({size.n, std::min<std::int64_t>(size.prompt, 16), 2});  // memory is touched
    steps_.clear();
    for (int round = 0; round < 2; ++round) {
      for (const Size& size : kSizes) measure(size);
    }
    return std::move(steps_);
  }

 private:
  void measure(const Size& size) {
    constexpr double kRounds = 3.0 * std::size(kSizes);
    if (progress_) progress_(measured_++ / kRounds);
    if (size.prompt + size.answer >= longest_) return;
    for (std::int64_t i = 0; i < size.n; ++i) {
      engine::Request request;
      request.tokens = engine::load::random_prompt(size.prompt, vocabulary_, 1, next_++);
      request.sampling.temperature = 0.0;
      request.sampling.max_tokens = size.answer;
      request.sampling.ignore_eos = true;
      engine_->submit(std::move(request)).or_throw();
    }
    while (!engine_->idle()) {
      const TimePoint start = Env::system().now();
      static_cast<void>(engine_->step());
      if (engine_->stalled()) continue;
      steps_.push_back({work_, milliseconds_between(start, Env::system().now())});
    }
  }

  const std::function<void(double)>& progress_;
  double measured_ = 0.0;  // sizes so far
  std::int64_t vocabulary_, longest_;
  sched::StepWork work_;
  std::unique_ptr<engine::Engine> engine_;
  std::vector<Step> steps_;
  std::uint64_t next_ = 0;
};

}  // namespace

ModelSpeed measure_model_speed(const LoadedModel& loaded, const ModelFlags& flags,
                               const std::function<void(double)>& progress) {
  const std::vector<Step> steps = SpeedRun(loaded, flags, progress).run();
  sched::StepCostEstimator estimator({.reads = runtime::weight_reads(*loaded.transformer)});
  for (const Step& step : steps) estimator.observe(step.work, step.ms);
  std::vector<double> errors;
  for (const Step& step : steps) {
    errors.push_back(std::abs(estimator.cost().milliseconds(step.work) - step.ms) / step.ms);
  }
  return {.cost = estimator.cost(),
          .steps = static_cast<std::int64_t>(steps.size()),
          .typical_error = metrics::quantile(errors, 0.5)};
}

nlohmann::ordered_json json_of(const sched::StepCost& cost) {
  return {{"fixed_ms", cost.fixed_ms},     {"weights_ms", cost.weights_ms},   {"token_ms", cost.token_ms},
          {"row_ms", cost.row_ms},         {"kv_token_ms", cost.kv_token_ms}, {"sample_ms", cost.sample_ms},
          {"experts", cost.reads.experts}, {"left_out", cost.reads.left_out}};
}

nlohmann::ordered_json json_of(const ModelSpeed& speed, const std::string& model) {
  nlohmann::ordered_json out = {{"model", model}};
  out.update(json_of(speed.cost));
  out["measured_steps"] = speed.steps;
  out["typical_error"] = speed.typical_error;
  return out;
}

sched::StepCost read_model_speed(const std::string& path) {
  nlohmann::json object = read_number_file(path);
  if (object.contains(kRanks) && object[kRanks].contains(kPredicted)) object = object[kRanks][kPredicted];
  const auto milliseconds = [&](const char* name) {
    return number_in(object, path, name, "milliseconds from 0 to 1e9",
                     [](double value) { return value >= 0.0 && value < 1e9; });
  };
  const auto share = [&](const char* name) {
    if (!object.contains(name)) return 0.0;
    return number_in(object, path, name, "a share from 0 to 1",
                     [](double value) { return value >= 0.0 && value <= 1.0; });
  };
  return {.fixed_ms = milliseconds("fixed_ms"),
          .weights_ms = milliseconds("weights_ms"),
          .token_ms = milliseconds("token_ms"),
          .kv_token_ms = milliseconds("kv_token_ms"),
          .sample_ms = milliseconds("sample_ms"),
          .row_ms = object.contains("row_ms") ? milliseconds("row_ms") : 0.0,
          .reads = {.experts = share("experts"), .left_out = share("left_out")}};
}

}  // namespace millrace::app
