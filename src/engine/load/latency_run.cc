#include "engine/load/latency_run.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "engine/load/random_prompt.h"

namespace millrace::engine::load {
namespace {

using engine::Engine;
using engine::FinishReason;
using engine::Output;
using engine::RequestId;

// Runs requests to their end; visit(index of the request, output) for each output. Returns the steps it took.
template <typename Visit>
std::int64_t run_to_end(Engine& engine, std::vector<engine::Request> requests, const Visit& visit) {
  std::unordered_map<RequestId, std::size_t> index;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto id = engine.submit(std::move(requests[i]));
    if (!id) throw LoadError(id.error());
    index.emplace(*id, i);
  }
  std::int64_t steps = 0;
  for (; !engine.idle(); ++steps) {
    for (const Output& output : engine.step()) {
      if (output.error) throw LoadError(*output.error);
      visit(index.at(output.request), output);
    }
  }
  return steps;
}

// Sessions of a batch, closed whatever happens.
class Sessions {
 public:
  Sessions(Engine& engine, std::int64_t n) : engine_(engine) {
    for (std::int64_t i = 0; i < n; ++i) ids_.push_back(engine.sessions().open());
  }
  ~Sessions() {
    for (const engine::SessionId id : ids_) engine_.sessions().close(id);
  }
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;
  engine::SessionId operator[](std::size_t i) const { return ids_[i]; }

 private:
  Engine& engine_;
  std::vector<engine::SessionId> ids_;
};

engine::Request greedy_request(std::vector<std::int32_t> tokens, std::int64_t max_tokens, engine::SessionId session,
                               const std::vector<AdapterUse>& adapters, std::size_t i) {
  engine::Request request;
  if (!adapters.empty()) request.adapters = {adapters[i % adapters.size()]};
  request.tokens = std::move(tokens);
  request.sampling.temperature = 0.0;
  request.sampling.max_tokens = max_tokens;
  request.sampling.ignore_eos = true;
  request.session = session;
  return request;
}

}  // namespace

std::int64_t kv_tokens(const LatencyLoad& load, std::int64_t block_tokens) noexcept {
  const std::int64_t length = load.prompt_tokens + load.output_tokens;
  return load.batch * ((length + block_tokens - 1) / block_tokens * block_tokens);
}

LatencySample run_latency(Engine& engine, const backend::TimedBackend& timed, std::int64_t vocabulary,
                          const LatencyLoad& load) {
  CHECK(engine.idle() && load.output_tokens > 1);
  const auto batch = static_cast<std::size_t>(load.batch);
  const Sessions sessions(engine, load.batch);
  std::vector<std::vector<std::int32_t>> tokens;
  std::vector<engine::Request> prompts;
  for (std::size_t i = 0; i < batch; ++i) {
    tokens.push_back(random_prompt(load.prompt_tokens, vocabulary, load.seed, i));
    prompts.push_back(greedy_request(tokens[i], 1, sessions[i], load.adapters, i));
  }
  LatencySample sample;
  TimePoint first_arrival = TimePoint::max(), last_token{};
  run_to_end(engine, std::move(prompts), [&](std::size_t i, const Output& output) {
    if (output.token) tokens[i].push_back(*output.token);
    if (output.finish == FinishReason::kNone) return;
    first_arrival = std::min(first_arrival, output.stats.arrival);
    last_token = std::max(last_token, output.stats.last_token);
    sample.ttft_ms += output.stats.ttft_ms() / static_cast<double>(load.batch);
  });
  sample.prefill_ms = milliseconds_between(first_arrival, last_token);

  std::vector<engine::Request> answers;
  for (std::size_t i = 0; i < batch; ++i) {
    answers.push_back(greedy_request(tokens[i], load.output_tokens - 1, sessions[i], load.adapters, i));
  }
  first_arrival = TimePoint::max();
  const double kernels_before = timed.milliseconds();
  sample.decode_steps = run_to_end(engine, std::move(answers), [&](std::size_t, const Output& output) {
    if (output.finish == FinishReason::kNone) return;
    first_arrival = std::min(first_arrival, output.stats.arrival);
    last_token = std::max(last_token, output.stats.last_token);
  });
  const double decode_ms = milliseconds_between(first_arrival, last_token);
  sample.tpot_ms = decode_ms / static_cast<double>(load.output_tokens - 1);
  const double kernel_ms = timed.milliseconds() - kernels_before;
  sample.outside_ms = std::max(0.0, decode_ms - kernel_ms) / static_cast<double>(load.output_tokens - 1);
  sample.latency_ms = sample.prefill_ms + decode_ms;
  return sample;
}

}  // namespace millrace::engine::load
