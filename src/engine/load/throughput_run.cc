#include "engine/load/throughput_run.h"

#include <algorithm>

#include "base/check.h"
#include "engine/load/random_prompt.h"

namespace millrace::engine::load {
namespace {

constexpr std::uint64_t kInputStream = 0, kOutputStream = 1;
constexpr std::uint64_t kSharedPrompt = ~std::uint64_t{0};  // no request has this index

engine::Request request_of(const ThroughputLoad& load, std::int64_t vocabulary, std::uint64_t index) {
  engine::Request request;
  request.tokens = random_prompt(load.shared_prefix, vocabulary, load.seed, kSharedPrompt);
  const auto own =
      random_prompt(metrics::sample(load.input, load.seed, index, kInputStream), vocabulary, load.seed, index);
  request.tokens.insert(request.tokens.end(), own.begin(), own.end());
  request.sampling.temperature = 0.0;
  request.sampling.max_tokens = metrics::sample(load.output, load.seed, index, kOutputStream);
  request.sampling.ignore_eos = true;
  request.sampling.logprobs = load.logprobs;
  request.prompt_logprobs = load.prompt_logprobs;
  return request;
}

double ratio(std::int64_t a, std::int64_t b) noexcept {
  return b == 0 ? 0.0 : static_cast<double>(a) / static_cast<double>(b);
}

// Shares of the cache's slots, added up over steps.
struct SlotUse {
  double live = 0.0, held = 0.0;
  std::int64_t steps = 0;

  void add(const engine::Engine& engine) {
    if (engine.scheduler().waiting().empty()) return;
    const auto capacity = static_cast<double>(engine.limits().kv_capacity_tokens);
    std::int64_t tokens = 0;
    for (const sched::Sequence* sequence : engine.scheduler().running()) tokens += sequence->computed;
    live += static_cast<double>(tokens) / capacity;
    held += static_cast<double>(tokens + engine.cache().use().cached * engine.cache().block_tokens()) / capacity;
    ++steps;
  }
};

}  // namespace

double ThroughputRun::mean_step_tokens() const noexcept {
  const auto n = static_cast<std::int64_t>(requests.size());
  return ratio(input_tokens + output_tokens - n, steps);  // the last token of an answer is sampled and never computed
}

double ThroughputRun::mean_step_outputs() const noexcept { return ratio(output_tokens, steps); }

std::int64_t kv_tokens(const ThroughputLoad& load, std::int64_t block_tokens) noexcept {
  const std::int64_t length = load.shared_prefix + load.input.max + load.output.max;
  return std::min(load.concurrency, load.requests) * ((length + block_tokens - 1) / block_tokens * block_tokens);
}

ThroughputRun run_throughput(engine::Engine& engine, Env& env, std::int64_t vocabulary, const ThroughputLoad& load) {
  CHECK(engine.idle());
  ThroughputRun run;
  std::int64_t submitted = 0;
  const auto submit_while_room = [&] {
    while (submitted < load.requests && submitted - static_cast<std::int64_t>(run.requests.size()) < load.concurrency) {
      auto id = engine.submit(request_of(load, vocabulary, static_cast<std::uint64_t>(submitted)));
      if (!id) throw LoadError(id.error());
      ++submitted;
    }
  };
  SlotUse use;
  const TimePoint start = env.now();
  submit_while_room();
  for (; !engine.idle(); submit_while_room()) {
    ++run.steps;
    use.add(engine);
    for (const engine::Output& output : engine.step()) {
      if (output.error) throw LoadError(*output.error);
      if (output.finish == engine::FinishReason::kNone) continue;
      run.requests.push_back(output.stats);
      run.input_tokens += output.stats.prompt_tokens;
      run.output_tokens += output.stats.output_tokens;
    }
  }
  run.seconds = milliseconds_between(start, env.now()) / 1000.0;
  if (use.steps > 0) {
    run.live_share = use.live / static_cast<double>(use.steps);
    run.held_share = use.held / static_cast<double>(use.steps);
  }
  return run;
}

}  // namespace millrace::engine::load
