#include "engine/engine.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace millrace::engine {
namespace {

constexpr std::int64_t kWarmUpTokens = 32;

}  // namespace

std::string_view to_string(FinishReason reason) noexcept {
  switch (reason) {
    case FinishReason::kNone: return "";
    case FinishReason::kStop: return "stop";
    case FinishReason::kLength: return "length";
    case FinishReason::kCancelled: return "cancelled";
    case FinishReason::kTimeout: return "timeout";
    case FinishReason::kError: return "error";
  }
  return "";
}

Result<std::unique_ptr<Engine>> Engine::create(std::unique_ptr<Executor> executor,
                                               std::shared_ptr<const text::Tokenizer> tokenizer, Env& env,
                                               const Config& config, kv::DiskTier* disk) {
  auto policy = sched::make_policy(config.policy, config.policy_options);
  if (!policy) return policy.error();
  return std::unique_ptr<Engine>(
      new Engine(std::move(executor), std::move(tokenizer), env, config, *std::move(policy), disk));
}

Engine::Engine(std::unique_ptr<Executor> executor, std::shared_ptr<const text::Tokenizer> tokenizer, Env& env,
               const Config& config, std::unique_ptr<sched::SchedulePolicy> policy, kv::DiskTier* disk)
    : executor_(std::move(executor)),
      tokenizer_(std::move(tokenizer)),
      env_(env),
      config_(config),
      cache_({.block_tokens = executor_->block_tokens(), .pages = executor_->pages(), .swap_bytes = config.swap_bytes},
             executor_->device(), disk),
      scheduler_(config.scheduling, std::move(policy), cache_),
      predictor_(sched::make_quantile_predictor()),
      cost_(config.step_cost),
      sessions_(cache_, static_cast<std::int32_t>(config.session_share * executor_->pages())) {}

Engine::~Engine() {
  for (; !launched_.empty(); launched_.pop_front()) (void)executor_->wait();
}

Result<void> Engine::warm_up() {
  CHECK_EQ(cache_.use().free, cache_.total_pages());
  const std::int64_t n = std::min<std::int64_t>(kWarmUpTokens, max_length());
  std::vector<kv::BlockId> pages(static_cast<std::size_t>((n + cache_.block_tokens() - 1) / cache_.block_tokens()));
  std::iota(pages.begin(), pages.end(), 0);  // free ones: their next owner writes them first
  double milliseconds = 0.0;
  for (int round = 0; round < 2; ++round) {
    model::BatchInput input;
    input.tokens.assign(static_cast<std::size_t>(n), 0);
    input.sequences.push_back({.first_row = 0, .n_rows = n, .first_position = 0, .pages = pages});
    input.logit_rows = {n - 1};
    const TimePoint start = env_.now();
    executor_->launch(std::move(input));
    if (auto ran = executor_->wait(); !ran) return ran.error();
    milliseconds = milliseconds_between(start, env_.now());
  }
  cache_.set_recompute_ms_per_page(milliseconds / static_cast<double>(n) * static_cast<double>(cache_.block_tokens()));
  return {};
}

std::int64_t Engine::kv_capacity_tokens() const noexcept { return cache_.total_pages() * cache_.block_tokens(); }

std::int64_t Engine::kv_free_tokens() const noexcept {
  return (cache_.total_pages() - cache_.use().used) * cache_.block_tokens();
}

std::size_t Engine::kv_bytes() const noexcept {
  return executor_->device().page_bytes() * static_cast<std::size_t>(cache_.total_pages());
}

std::size_t Engine::kv_bytes_per_token() const noexcept {
  return executor_->device().page_bytes() / static_cast<std::size_t>(cache_.block_tokens());
}

std::int64_t Engine::max_length() const noexcept { return std::min(executor_->max_length(), kv_capacity_tokens()); }

SessionId Engine::open_session() {
  sessions_.open(next_id_);
  return next_id_++;
}

Result<SessionId> Engine::fork_session(SessionId session) {
  if (auto forked = sessions_.fork(session, next_id_); !forked) return forked.error();
  return next_id_++;
}

Result<void> Engine::validate(const Request& request) const {
  const std::int64_t vocabulary = executor_->vocab_size();
  if (auto valid = request.sampling.validate(vocabulary); !valid && !request.embed) return valid;
  if (auto valid = validate_reading(request); !valid) return valid;
  auto length = static_cast<std::int64_t>(request.tokens.size());
  for (const std::int32_t token : request.tokens) {
    if (token < 0 || token >= vocabulary) {
      return make_error(ErrorCode::kInvalidArgument, "prompt", "token id {} is outside the vocabulary of {}", token,
                        vocabulary);
    }
  }
  if (request.beams) {
    if (auto valid = validate_beams(request); !valid) return valid;
  }
  if (request.n < 1 || request.n > kMaxChoices) {
    return make_error(ErrorCode::kInvalidArgument, "n", "n is {}: expected 1 to {}", request.n, kMaxChoices);
  }
  if (request.n > config_.scheduling.max_sequences) {
    return make_error(ErrorCode::kInvalidArgument, "n", "n is {}: at most {} answers are made at once", request.n,
                      config_.scheduling.max_sequences);
  }
  if (request.timeout_ms && !(*request.timeout_ms > 0.0 && *request.timeout_ms <= 1e9)) {
    return make_error(ErrorCode::kInvalidArgument, "timeout", "timeout is {} ms: expected more than 0, at most 1e9",
                      *request.timeout_ms);
  }
  if (request.draft_tokens.value_or(0) < 0 || request.draft_tokens.value_or(0) > draft::kMaxTokens) {
    return make_error(ErrorCode::kInvalidArgument, "spec_tokens", "spec_tokens is {}: expected 0 to {}",
                      *request.draft_tokens, draft::kMaxTokens);
  }
  if (request.draft_branches.value_or(1) < 1 || request.draft_branches.value_or(1) > draft::kMaxBranches) {
    return make_error(ErrorCode::kInvalidArgument, "spec_branches", "spec_branches is {}: expected 1 to {}",
                      *request.draft_branches, draft::kMaxBranches);
  }
  if (request.retention.priority < 0 || request.retention.priority > 100) {
    return make_error(ErrorCode::kInvalidArgument, "retention_priority", "retention_priority is {}: expected 0 to 100",
                      request.retention.priority);
  }
  if (request.session) {
    const auto session = sessions_.idle(*request.session);
    if (!session) return session.error();
    if (request.n > 1) {
      return make_error(ErrorCode::kInvalidArgument, "n", "n is {}: a session goes on with one answer", request.n);
    }
    if (request.append_to_session) length += static_cast<std::int64_t>((*session)->tokens.size());
  } else if (request.append_to_session) {
    return make_error(ErrorCode::kInvalidArgument, "session", "appending needs a session");
  }
  if (length == 0) return make_error(ErrorCode::kInvalidArgument, "prompt", "the prompt is empty");
  const bool answers = !request.embed && request.sampling.max_tokens > 0;
  if (length > max_length() - (answers ? 1 : 0)) {
    return make_error(ErrorCode::kContextLength, "prompt", "the prompt has {} tokens; {} the limit is {}", length,
                      answers ? "with an answer" : "without an answer", max_length());
  }
  if (static_cast<std::int64_t>(scheduler_.waiting().size()) >= config_.max_waiting) {
    return make_error(ErrorCode::kResourceExhausted, "", "{} requests are waiting: that is the limit",
                      config_.max_waiting);
  }
  return {};
}

// What is asked of the prompt itself.
Result<void> Engine::validate_reading(const Request& request) const {
  constexpr ErrorCode kWrong = ErrorCode::kInvalidArgument;
  const int scores = request.prompt_logprobs.value_or(0);
  if (scores < 0 || scores > decode::kMaxLogprobs) {
    return make_error(kWrong, "prompt_logprobs", "prompt_logprobs is {}: must be between 0 and {}", scores,
                      decode::kMaxLogprobs);
  }
  const bool reads = request.embed || request.prompt_logprobs;
  if (request.embed && request.prompt_logprobs) {
    return make_error(kWrong, "prompt_logprobs", "an embedding has no logprobs");
  }
  if (reads && request.session) {
    return make_error(kWrong, "session", "a session keeps its prompt from being computed whole, as {} asks",
                      request.embed ? "an embedding" : "prompt_logprobs");
  }
  if (!reads && request.sampling.max_tokens == 0) {
    return make_error(kWrong, "max_tokens", "max_tokens is 0: must be at least 1 without prompt_logprobs");
  }
  if (request.n != 1 && (request.embed || request.sampling.max_tokens == 0)) {
    return make_error(kWrong, "n", "n is {}: must be 1 where no token is sampled", request.n);
  }
  return {};
}

void Engine::speculate(std::unique_ptr<Speculation> speculation) { speculation_ = std::move(speculation); }

std::unique_ptr<ActiveSequence> Engine::make_running(RequestId request, int choice,
                                                     const decode::SamplingParams& sampling,
                                                     std::optional<grammar::Matcher> grammar) {
  auto running = std::make_unique<ActiveSequence>(cache_.make_table(), sampling, executor_->vocab_size(), tokenizer_,
                                                  std::move(grammar));
  running->id = next_id_++;
  running->request = request;
  running->choice = choice;
  return running;
}

sched::PolicyView Engine::view() const { return {.now = env_.now(), .cost = cost_.cost()}; }

Result<RequestId> Engine::submit(Request request, std::shared_ptr<grammar::CompiledGrammar> compiled) {
  if (auto valid = validate(request); !valid) return valid.error();
  const RequestId id = next_id_;
  std::optional<grammar::Matcher> grammar;
  if (compiled != nullptr) grammar.emplace(std::move(compiled));
  if (grammar && !speculation_ && config_.jump_forward && executor_->depth() == 1) {
    speculate(std::make_unique<Speculation>(nullptr, SpeculationConfig{}));
  }
  auto running = make_running(id, 0, request.sampling, std::move(grammar));
  ActiveSequence& first = *running;
  Sessions::Session* session = request.session ? sessions_.find(*request.session) : nullptr;
  first.tokens = std::move(request.tokens);
  if (request.append_to_session) {
    first.tokens.insert(first.tokens.begin(), session->tokens.begin(), session->tokens.end());
  }
  first.arrival = env_.now();
  first.prompt_tokens = first.length();
  first.reading = PromptReading::of(request);
  first.draws = !request.embed && request.sampling.max_tokens > 0;
  if (first.reading) first.shareable_tokens = first.reading->shareable_tokens(first.prompt_tokens);
  first.max_total = std::min(first.prompt_tokens + (first.draws ? request.sampling.max_tokens : 0), max_length());
  // A request that shares with no other still shares with itself: other answers, the next round of its session.
  first.scope.adapter = 0;
  first.scope.salt = config_.prefix_caching ? "tenant " + request.cache_salt
                     : session != nullptr   ? session->scope.salt
                                            : "request " + std::to_string(id);
  first.retention = request.retention;
  first.record.most = request.draft_tokens.value_or(draft::kMaxTokens);
  // With steps in flight behind, pages of branches would be short in the next plan.
  first.record.max_branches = executor_->depth() > 1 ? 1 : request.draft_branches.value_or(draft::kMaxBranches);
  first.priority = request.priority;
  first.tenant = request.tenant;
  first.ttft_target_ms = request.ttft_target_ms;
  first.tpot_target_ms = request.tpot_target_ms;
  if (first.draws) {
    first.predicted_output = predictor_->predict(request.tenant, first.prompt_tokens, 0,
                                                 first.max_total - first.prompt_tokens, request.expected_tokens);
  } else {
    first.predicted_output = 1;
  }
  if (session != nullptr)
    first.scheduled = first.computed = sessions_.lease(*session, first.tokens, first.scope, first.blocks);
  first.pipeline.observe(first.tokens);
  first.stats.prompt_tokens = first.prompt_tokens;
  first.stats.arrival = first.account.mark = first.arrival;

  InFlight flight;
  flight.session = request.session;
  flight.live = 1;
  flight.n = request.n;
  if (request.beams) {
    first.is_beam = true;
    first.record.most = 0;
    flight.beams = make_beam_run(request, first);
    searches_.insert(id);
  }
  flight.answers.resize(flight.beams ? 1 : static_cast<std::size_t>(request.n));
  flight.answers[0] = std::move(running);
  if (request.timeout_ms) {
    flight.deadline = first.arrival + std::chrono::duration_cast<Clock::duration>(
                                          std::chrono::duration<double, std::milli>(*request.timeout_ms));
    first.deadline = flight.deadline;
    deadlines_.emplace(*flight.deadline, id);
  }
  requests_.emplace(id, std::move(flight));
  scheduler_.add(first, view());
  ++counters_.requests;
  counters_.prompt_tokens += first.prompt_tokens;
  return id;
}

void Engine::cancel(RequestId id) {
  const auto it = requests_.find(id);
  if (it == requests_.end() || std::exchange(it->second.cancelled, true)) return;
  cancelled_.push_back(id);
}

void Engine::pause(RequestId id, bool paused) {
  const auto it = requests_.find(id);
  if (it == requests_.end()) return;
  const TimePoint now = env_.now();
  for (auto& answer : it->second.answers) {
    if (answer == nullptr || answer->ending != FinishReason::kNone) continue;
    settle(*answer, now);
    answer->paused = paused;
  }
}

std::optional<TimePoint> Engine::next_event() const {
  std::optional<TimePoint> next = scheduler_.next_change();
  if (!deadlines_.empty() && (!next || deadlines_.begin()->first < *next)) next = deadlines_.begin()->first;
  return next;
}

void Engine::check_integrity() const {
  std::vector<const kv::BlockTable*> tables;
  for (const auto& [id, flight] : requests_) {
    for (const auto& answer : flight.answers) {
      if (answer != nullptr) tables.push_back(&answer->blocks);
    }
  }
  for (const Launched& step : launched_) {
    for (const BranchRows& branch : step.branches) tables.push_back(&branch.blocks);
  }
  sessions_.collect(tables);
  cache_.check_integrity(tables);
  scheduler_.check_integrity();
}

}  // namespace millrace::engine
