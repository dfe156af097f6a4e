#include "engine/engine.h"

#include <algorithm>
#include <limits>

namespace millrace::engine {

std::string_view to_string(FinishReason reason) noexcept {
  switch (reason) {
    case FinishReason::kNone: return "";
    case FinishReason::kStop: return "stop";
    case FinishReason::kLength: return "length";
    case FinishReason::kCancelled: return "cancelled";
    case FinishReason::kError: return "error";
  }
  return "";
}

Result<std::unique_ptr<Engine>> Engine::create(model::Transformer& model,
                                               std::shared_ptr<const text::Tokenizer> tokenizer,
                                               backend::Backend& backend, Env& env, const Config& config) {
  const backend::KvGeometry geometry = model.kv_geometry(config.kv_pages);
  const std::int64_t tokens = config.kv_cache_tokens > 0 ? config.kv_cache_tokens : model.max_length();
  const std::int64_t pages = (tokens + geometry.block_tokens - 1) / geometry.block_tokens;
  if (pages > std::numeric_limits<std::int32_t>::max()) {
    return make_error(ErrorCode::kInvalidArgument, "kv-cache-tokens", "kv-cache-tokens is {}: too many", tokens);
  }
  const auto layers = static_cast<std::int64_t>(model.spec().layers.size());
  auto store = kv::KvStore::create(backend, layers, geometry, static_cast<std::int32_t>(pages));
  if (!store) return store.error();
  return std::unique_ptr<Engine>(
      new Engine(model, std::move(tokenizer), env, config, std::move(*store), static_cast<std::int32_t>(pages)));
}

Engine::Engine(model::Transformer& model, std::shared_ptr<const text::Tokenizer> tokenizer, Env& env,
               const Config& config, kv::KvStore store, std::int32_t pages)
    : model_(model),
      tokenizer_(std::move(tokenizer)),
      env_(env),
      store_(std::move(store)),
      pool_(pages),
      scheduler_(config.scheduling) {}

std::size_t Engine::kv_bytes_per_token() const noexcept {
  const backend::KvGeometry& g = store_.geometry();
  return g.page_bytes() * model_.spec().layers.size() / static_cast<std::size_t>(g.block_tokens);
}

std::int64_t Engine::kv_capacity_tokens() const noexcept { return pool_.total() * store_.geometry().block_tokens; }

std::int64_t Engine::kv_free_tokens() const noexcept { return pool_.free() * store_.geometry().block_tokens; }

SessionId Engine::open_session() {
  const SessionId id = next_id_++;
  sessions_.emplace(id, Session{{}, kv::BlockTable(pool_, store_.geometry().block_tokens), false});
  return id;
}

void Engine::close_session(SessionId session) { sessions_.erase(session); }

Result<void> Engine::validate(const Request& request) const {
  if (auto valid = request.sampling.validate(); !valid) return valid;
  const auto length = static_cast<std::int64_t>(request.tokens.size());
  if (length == 0) return make_error(ErrorCode::kInvalidArgument, "prompt", "the prompt is empty");
  const std::int64_t vocabulary = model_.spec().vocab_size;
  for (const std::int32_t token : request.tokens) {
    if (token < 0 || token >= vocabulary) {
      return make_error(ErrorCode::kInvalidArgument, "prompt", "token id {} is outside the vocabulary of {}", token,
                        vocabulary);
    }
  }
  const std::int64_t limit = std::min(model_.max_length(), kv_capacity_tokens());
  if (length >= limit) {
    return make_error(ErrorCode::kInvalidArgument, "prompt", "the prompt has {} tokens; with an answer the limit is {}",
                      length, limit);
  }
  if (request.session) {
    const auto it = sessions_.find(*request.session);
    if (it == sessions_.end()) return make_error(ErrorCode::kNotFound, "session", "no session {}", *request.session);
    if (it->second.busy) {
      return make_error(ErrorCode::kInvalidArgument, "session", "session {} has a request in flight", *request.session);
    }
  }
  return {};
}

Result<RequestId> Engine::submit(Request request) {
  if (auto valid = validate(request); !valid) return valid.error();
  auto sequence = std::make_unique<sched::Sequence>(kv::BlockTable(pool_, store_.geometry().block_tokens));
  sequence->id = next_id_++;
  sequence->arrival = env_.now();
  sequence->prompt_tokens = static_cast<std::int64_t>(request.tokens.size());
  sequence->max_total =
      std::min({sequence->prompt_tokens + request.sampling.max_tokens, model_.max_length(), kv_capacity_tokens()});
  if (request.session) {
    Session& session = sessions_.at(*request.session);
    session.busy = true;
    // What the session already computed and this prompt begins with; at least the last token is computed anew, for its
    // logits.
    const auto [end, ignored] =
        std::mismatch(session.tokens.begin(), session.tokens.end(), request.tokens.begin(), request.tokens.end());
    sequence->computed = std::min<std::int64_t>(end - session.tokens.begin(), sequence->prompt_tokens - 1);
    session.blocks.truncate(sequence->computed);
    session.tokens.clear();
    sequence->blocks = std::move(session.blocks);
  }
  sequence->tokens = std::move(request.tokens);
  Running running{.sampling = request.sampling,
                  .pipeline = decode::LogitsPipeline(request.sampling, model_.spec().vocab_size),
                  .detokenizer = text::Detokenizer(tokenizer_, true),
                  .stops = decode::StopMatcher(request.sampling.stop),
                  .session = request.session,
                  .stats = {}};
  running.pipeline.observe(sequence->tokens);
  running.stats.prompt_tokens = sequence->prompt_tokens;
  running.stats.cached_tokens = sequence->computed;
  running.stats.arrival = sequence->arrival;
  const RequestId id = sequence->id;
  requests_.emplace(id, std::move(running));
  scheduler_.add(std::move(sequence));
  return id;
}

void Engine::cancel(RequestId id) {
  if (const auto it = requests_.find(id); it != requests_.end()) it->second.cancelled = true;
}

bool Engine::ends_answer(std::int32_t token) const {
  const auto ends = tokenizer_->end_of_generation();
  return std::find(ends.begin(), ends.end(), token) != ends.end();
}

model::BatchInput Engine::gather(const sched::StepPlan& plan) const {
  model::BatchInput input;
  for (const sched::StepRow& row : plan) {
    const sched::Sequence& sequence = *row.sequence;
    backend::SequenceRows rows;
    rows.first_row = static_cast<std::int64_t>(input.tokens.size());
    rows.n_rows = row.n_tokens;
    rows.first_position = sequence.computed;
    rows.pages = sequence.blocks.blocks();
    input.sequences.push_back(rows);
    const auto begin = sequence.tokens.begin() + sequence.computed;
    input.tokens.insert(input.tokens.end(), begin, begin + row.n_tokens);
    if (row.samples()) input.logit_rows.push_back(static_cast<std::int64_t>(input.tokens.size()) - 1);
  }
  return input;
}

void Engine::finish(RequestId id, FinishReason reason, Output& output) {
  auto node = requests_.extract(id);
  Running& running = node.mapped();
  auto sequence = scheduler_.remove(id);
  if (!running.stops.stopped()) {
    output.text += running.stops.push(running.detokenizer.finish());
    output.text += running.stops.finish();
  }
  output.finish = reason;
  output.stats = running.stats;
  if (running.session) {
    if (const auto it = sessions_.find(*running.session); it != sessions_.end()) {
      Session& session = it->second;
      session.busy = false;
      const bool trusted = reason != FinishReason::kError;  // what a failed step wrote is not kept
      session.blocks = std::move(sequence->blocks);
      session.blocks.truncate(trusted ? sequence->computed : 0);
      session.tokens = std::move(sequence->tokens);
      session.tokens.resize(trusted ? static_cast<std::size_t>(sequence->computed) : 0);
    }
  }
}

Output Engine::commit_token(const sched::StepRow& row, std::span<const float> logits) {
  sched::Sequence& sequence = *row.sequence;
  Running& running = requests_.at(sequence.id);
  Output output;
  output.request = sequence.id;
  const auto drawn = running.pipeline.sample(logits, sequence.length());
  if (!drawn) {
    output.error = drawn.error();
    finish(sequence.id, FinishReason::kError, output);
    return output;
  }
  const TimePoint now = env_.now();
  if (running.stats.output_tokens == 0) running.stats.first_token = now;
  running.stats.last_token = now;
  ++running.stats.output_tokens;
  output.token = *drawn;
  if (!running.sampling.ignore_eos && ends_answer(*drawn)) {
    finish(sequence.id, FinishReason::kStop, output);
    return output;
  }
  sequence.tokens.push_back(*drawn);
  running.pipeline.observe(std::span(&sequence.tokens.back(), 1));
  output.text = running.stops.push(running.detokenizer.push(*drawn));
  if (running.stops.stopped()) {
    finish(sequence.id, FinishReason::kStop, output);
  } else if (running.stats.output_tokens >= running.sampling.max_tokens || sequence.length() >= sequence.max_total) {
    finish(sequence.id, FinishReason::kLength, output);
  } else {
    output.stats = running.stats;
  }
  return output;
}

std::vector<Output> Engine::step() {
  std::vector<Output> outputs;
  std::vector<RequestId> cancelled;
  for (const auto& [id, running] : requests_) {
    if (running.cancelled) cancelled.push_back(id);
  }
  for (const RequestId id : cancelled) {
    outputs.push_back({.request = id, .token = {}, .text = {}, .error = {}, .stats = {}});
    finish(id, FinishReason::kCancelled, outputs.back());
  }
  scheduler_.admit();
  const sched::StepPlan plan = scheduler_.plan();
  if (plan.empty()) return outputs;
  const TensorView logits = model_.forward(gather(plan), store_);
  std::int64_t logit_row = 0;
  for (const sched::StepRow& row : plan) {
    const bool samples = row.samples();
    row.sequence->computed += row.n_tokens;
    if (!samples) continue;
    outputs.push_back(commit_token(row, {logits.row(logit_row), static_cast<std::size_t>(logits.cols())}));
    ++logit_row;
  }
  return outputs;
}

}  // namespace millrace::engine
