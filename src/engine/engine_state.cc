#include "engine/engine_state.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "engine/used_adapters.h"

namespace millrace::engine {

EngineState::EngineState(std::unique_ptr<Executor> step_executor,
                         std::shared_ptr<const text::Tokenizer> model_tokenizer, Env& environment,
                         const Config& settings, std::unique_ptr<sched::SchedulePolicy> policy, kv::DiskTier* disk)
    : executor(std::move(step_executor)),
      tokenizer(std::move(model_tokenizer)),
      env(environment),
      config(settings),
      cache({.block_tokens = executor->block_tokens(),
             .pages = executor->pages(),
             .swap_bytes = config.swap_bytes,
             .window = executor->window(),
             .window_pages = executor->window_pages()},
            executor->device(), disk),
      scheduler(config.scheduling, std::move(policy), cache),
      predictor(sched::make_quantile_predictor()),
      cost(config.step_cost),
      sessions(cache, config.session_share, config.swap_bytes > 0 && config.preemption != Preemption::kRecompute,
               config.first_id),
      next_id(config.first_id) {}

std::int64_t EngineState::max_length() const noexcept { return std::min(executor->max_length(), capacity_tokens()); }

std::unique_ptr<ActiveSequence> EngineState::make_sequence(RequestId request, int choice,
                                                           const decode::SamplingParams& sampling,
                                                           std::optional<grammar::Matcher> grammar) {
  const bool row_decides = !grammar && !sampling.logprobs;
  auto sequence = std::make_unique<ActiveSequence>(cache.make_table(), sampling, executor->vocab_size(), tokenizer,
                                                   std::move(grammar));
  if (executor->feeds() && row_decides) sequence->row_sampling = decode::row_sampling(sampling);
  sequence->id = next_id++;
  sequence->request = request;
  sequence->choice = choice;
  return sequence;
}

void EngineState::set_adapters(ActiveSequence& sequence, const Request& request,
                               const Sessions::Session* session) const {
  const auto prompt = std::span(sequence.tokens).first(static_cast<std::size_t>(sequence.prompt_tokens));
  const std::vector<UsedAdapter> used = used_adapters(request.adapters, prompt);
  sequence.adapters = step_adapters(used);
  sequence.scope = {.salt = "tenant " + request.cache_salt, .rope_length = executor->rope_length(sequence.max_total)};
  if (!config.prefix_caching) {
    sequence.scope.salt = session != nullptr ? session->scope.salt : "request " + std::to_string(sequence.request);
  }
  add_to_scope(used, sequence.scope);
}

void EngineState::jump_forward() {
  if (speculation || !config.jump_forward || executor->feeds()) return;
  speculation = std::make_unique<Speculation>(*executor, SpeculationConfig{});
}

kv::PageOrigin EngineState::origin() const {
  return {.model_key = config.model_key,
          .page_bytes = cache.page_bytes() + cache.window_page_bytes(),
          .block_tokens = cache.block_tokens()};
}

void EngineState::publish(ActiveSequence& sequence, bool partial) {
  cache.publish(sequence.scope, sequence.blocks,
                std::span(sequence.tokens).first(static_cast<std::size_t>(sequence.computed)), partial,
                sequence.retention, env.now());
}

void EngineState::note_overflows(const std::vector<backend::KvOverflow>& overflows) {
  constexpr std::size_t kRemembered = 1024;
  if (kv_overflows.size() > kRemembered) kv_overflows.clear();
  kv_overflows.insert(kv_overflows.end(), overflows.begin(), overflows.end());
}

const backend::KvOverflow* EngineState::overflow_of(const ActiveSequence& sequence) const {
  const auto has = [](std::span<const kv::BlockId> pages, std::int32_t page) {
    return std::ranges::find(pages, page) != pages.end();
  };
  for (auto it = kv_overflows.rbegin(); it != kv_overflows.rend(); ++it) {
    if (it->position >= sequence.length()) continue;
    if (has(sequence.blocks.blocks(), it->page) || has(sequence.blocks.window_blocks(), it->page)) return &*it;
  }
  return nullptr;
}

void EngineState::check_integrity(std::vector<const kv::BlockTable*> tables) const {
  requests.for_each_answer([&](const ActiveSequence& answer) { tables.push_back(&answer.blocks); });
  sessions.collect(tables);
  cache.check_integrity(tables);
  scheduler.check_integrity();
}

}  // namespace millrace::engine
