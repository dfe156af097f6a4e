#include "engine/engine.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace millrace::engine {
namespace {

constexpr std::int64_t kWarmUpTokens = 32;

}  // namespace

Result<std::unique_ptr<Engine>> Engine::create(std::unique_ptr<Executor> executor,
                                               std::shared_ptr<const text::Tokenizer> tokenizer, Env& env,
                                               const Config& config, kv::DiskTier* disk) {
  auto policy = sched::make_policy(config.policy, config.policy_options);
  if (!policy) return policy.error();
  return std::unique_ptr<Engine>(
      new Engine(std::move(executor), std::move(tokenizer), env, config, *std::move(policy), disk));
}

Result<void> Engine::warm_up() {
  kv::PagedCache& cache = state_.cache;
  CHECK_EQ(cache.use().free, cache.total_pages());
  const std::int64_t n = std::min<std::int64_t>(kWarmUpTokens, state_.max_length());
  std::vector<kv::BlockId> pages(static_cast<std::size_t>((n + cache.block_tokens() - 1) / cache.block_tokens()));
  std::iota(pages.begin(), pages.end(), 0);  // free ones: their next owner writes them first
  std::vector<kv::BlockId> window_pages;
  for (std::size_t i = 0; cache.use().window_total > 0 && i < pages.size(); ++i) {
    window_pages.push_back(static_cast<kv::BlockId>(i) % cache.use().window_total);
  }
  double milliseconds = 0.0;
  for (int round = 0; round < 2; ++round) {
    StepInput input;
    input.tokens.assign(static_cast<std::size_t>(n), 0);
    input.sequences.push_back(
        {.first_row = 0, .n_rows = n, .first_position = 0, .pages = pages, .window_pages = window_pages});
    input.logit_rows = {n - 1};
    const TimePoint start = state_.env.now();
    state_.executor->launch(std::move(input));
    if (auto ran = state_.executor->wait(); !ran) return ran.error();
    milliseconds = milliseconds_between(start, state_.env.now());
  }
  cache.set_recompute_ms_per_page(milliseconds / static_cast<double>(n) * static_cast<double>(cache.block_tokens()));
  return {};
}

void Engine::speculate(std::unique_ptr<draft::Drafter> drafter, const SpeculationConfig& config) {
  state_.speculation.reset();
  state_.executor->set_drafter(std::move(drafter));
  state_.speculation = std::make_unique<Speculation>(*state_.executor, config);
}

void Engine::pause(RequestId id, bool paused) {
  const RequestState* request = state_.requests.find(id);
  if (request == nullptr) return;
  const TimePoint now = state_.env.now();
  for (const auto& answer : request->answers) {
    if (answer == nullptr || answer->ending != FinishReason::kNone) continue;
    loop_.accounting().settle(*answer, now);
    answer->paused = paused;
  }
}

std::vector<Output> Engine::step() {
  std::vector<Output> outputs;
  stalled_ = !loop_.step(outputs);
  if (stalled_) compactor_.compact();
  return outputs;
}

std::optional<TimePoint> Engine::next_event() const {
  if (loop_.idle() && compactor_.needed()) return TimePoint::min();
  std::optional<TimePoint> next = state_.scheduler.next_change();
  const auto deadline = state_.requests.next_deadline();
  if (deadline && (!next || *deadline < *next)) next = deadline;
  return next;
}

EngineLimits Engine::limits() const noexcept {
  const kv::PagedCache& cache = state_.cache;
  const std::size_t window_bytes = cache.window_page_bytes(), page_bytes = cache.page_bytes() + window_bytes;
  return {.vocab_size = state_.executor->vocab_size(),
          .max_length = state_.max_length(),
          .kv_capacity_tokens = state_.capacity_tokens(),
          .kv_bytes = cache.page_bytes() * static_cast<std::size_t>(cache.total_pages()) +
                      window_bytes * static_cast<std::size_t>(cache.use().window_total),
          .kv_bytes_per_token = page_bytes / static_cast<std::size_t>(cache.block_tokens())};
}

void Engine::check_integrity() const {
  std::vector<const kv::BlockTable*> tables;
  loop_.collect(tables);
  state_.check_integrity(std::move(tables));
}

}  // namespace millrace::engine
