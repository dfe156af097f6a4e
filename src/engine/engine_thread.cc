#include "engine/engine_thread.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include "base/log.h"
#include "base/thread_name.h"
#include "chat/answer_grammar.h"

namespace millrace::engine {
namespace {

// How long to sleep when all requests wait for something that no message announces: a full batch, a paused reader.
constexpr std::chrono::milliseconds kIdleTick{1};

std::int64_t nanoseconds(TimePoint time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

Output failed(Error error) {
  Output output;
  output.finish = FinishReason::kError;
  output.last = true;
  output.error = std::move(error);
  return output;
}

}  // namespace

EngineThread::EngineThread(std::unique_ptr<Engine> engine, std::shared_ptr<const text::Tokenizer> tokenizer, Env& env,
                           const ThreadConfig& config)
    : engine_(std::move(engine)),
      env_(env),
      config_(config),
      limits_(engine_->limits()),
      grammars_(std::move(tokenizer)),
      idle_tasks_(config.idle_tasks, env.now()),
      thread_([this] { run(); }) {}

EngineThread::~EngineThread() {
  {
    const std::lock_guard lock(mutex_);  // else it may have looked already and sleep after this
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void EngineThread::post(std::function<void(Engine&)> message) {
  {
    const std::lock_guard lock(mutex_);
    inbox_.push_back(std::move(message));
  }
  wake_.notify_one();
}

std::shared_ptr<TokenStream> EngineThread::submit(Request request, std::function<void()> on_ready) {
  auto stream = std::make_shared<TokenStream>(std::clamp(request.n, 1, kMaxChoices), std::move(on_ready));
  std::shared_ptr<grammar::CompiledGrammar> grammar;
  if (request.grammar != nullptr) {
    auto compiled = chat::compiled_grammar(grammars_, *request.grammar, request.tenant);
    if (!compiled) {
      post([stream, error = compiled.error()](Engine&) { stream->push(failed(error)); });
      return stream;
    }
    grammar = *std::move(compiled);
  }
  post([this, stream, request = std::move(request), grammar = std::move(grammar)](Engine&) mutable {
    accept(std::move(request), std::move(grammar), stream);
  });
  return stream;
}

Result<std::vector<std::string>> EngineThread::compile_grammar(const chat::AnswerGrammar& source, std::uint32_t tenant,
                                                               const std::atomic<bool>& cancelled) {
  const auto compiled = chat::compiled_grammar(grammars_, source, tenant, &cancelled);
  if (!compiled) return compiled.error();
  return (*compiled)->ignored();
}

void EngineThread::accept(Request request, std::shared_ptr<grammar::CompiledGrammar> grammar,
                          const std::shared_ptr<TokenStream>& stream) {
  if (!alive_ || draining_) {
    stream->push(failed(alive_ ? Error{ErrorCode::kUnavailable, "", "the engine is shutting down"}
                               : Error{ErrorCode::kInternal, "", "the engine has failed"}));
    return;
  }
  const auto id = engine_->submit(std::move(request), std::move(grammar));
  if (!id) {
    stream->push(failed(id.error()));
    return;
  }
  clients_.emplace(*id, Client{stream, {}});
  by_stream_.emplace(stream.get(), *id);
}

void EngineThread::cancel(const std::shared_ptr<TokenStream>& stream) {
  post([this, stream](Engine& engine) {
    const auto it = by_stream_.find(stream.get());
    if (it != by_stream_.end()) engine.cancel(it->second);
  });
}

Result<SessionId> EngineThread::open_session() {
  return call([](Engine& engine) { return engine.sessions().open(); });
}

Result<void> EngineThread::close_session(SessionId session) {
  return call([session](Engine& engine) -> Result<void> {
    engine.sessions().close(session);
    return {};
  });
}

Result<SessionId> EngineThread::fork_session(SessionId session) {
  return call([session](Engine& engine) { return engine.sessions().fork(session); });
}

Result<void> EngineThread::rollback_session(SessionId session, std::int64_t tokens) {
  return call([session, tokens](Engine& engine) { return engine.sessions().rollback(session, tokens); });
}

Result<PageUse> EngineThread::page_use() {
  return call([](const Engine& engine) { return PageUse{engine.cache().use(), kv_extents(engine.scheduler())}; });
}

void EngineThread::drain(double limit_ms) {
  std::promise<void> done;
  auto result = done.get_future();
  post([&, limit_ms](Engine&) {
    draining_ = true;
    drain_end_ =
        env_.now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(limit_ms));
    drained_.push_back(std::move(done));
  });
  result.get();
}

Heartbeat EngineThread::heartbeat() const {
  Heartbeat beat;
  beat.alive = alive_;
  beat.busy = busy_;
  beat.last_step_age_ms = beat.busy ? static_cast<double>(nanoseconds(env_.now()) - last_round_ns_.load()) / 1e6 : 0.0;
  beat.requests = requests_;
  beat.waiting = waiting_;
  beat.running = running_;
  beat.paused = paused_count_;
  return beat;
}

void EngineThread::run() {
  name_thread("engine");
  while (!stopping_) {
    last_round_ns_ = nanoseconds(env_.now());
    busy_ = true;
    take_messages();
    if (alive_) {
      try {
        std::vector<Output> outputs = engine_->step();
        const TimePoint stepped = env_.now();
        deliver(std::move(outputs));
        engine_->reporter().note_delivery(milliseconds_between(stepped, env_.now()));
        look_after_paused();
      } catch (const std::exception& error) {
        fail(error.what());
      }
    }
    requests_ = static_cast<std::int64_t>(clients_.size());
    paused_count_ = static_cast<std::int64_t>(paused_.size());
    waiting_ = static_cast<std::int64_t>(engine_->scheduler().waiting().size());
    running_ = static_cast<std::int64_t>(engine_->scheduler().running().size());
    if (drain_end_ && env_.now() >= *drain_end_) {
      for (const auto& [id, client] : clients_) engine_->cancel(id);
      drain_end_.reset();
    }
    if (clients_.empty()) {
      for (std::promise<void>& done : std::exchange(drained_, {})) done.set_value();
    }
    wait_for_work();
  }
  for (const auto& [id, client] : clients_) {
    client.stream->push(failed({ErrorCode::kCancelled, "", "the engine was stopped"}));
  }
  take_messages();  // callers that wait for an answer get one
  for (std::promise<void>& done : drained_) done.set_value();
}

void EngineThread::take_messages() {
  std::vector<std::function<void(Engine&)>> messages;
  {
    const std::lock_guard lock(mutex_);
    messages.swap(inbox_);
  }
  for (const auto& message : messages) message(*engine_);
}

void EngineThread::wait_for_work() {
  const bool nothing = clients_.empty() || !alive_;
  if (!clients_.empty()) idle_tasks_.busy(env_.now());
  if (!nothing && !engine_->stalled()) return;
  if (const auto next = engine_->next_event(); alive_ && next && *next <= env_.now()) return;
  if (nothing && alive_ && idle_tasks_.run_one(*engine_, env_.now())) return;  // to look for messages first
  std::unique_lock lock(mutex_);
  const auto ready = [this] { return !inbox_.empty() || stopping_; };
  busy_ = !nothing;
  if (const auto task = idle_tasks_.next(); nothing && alive_ && task) {
    wake_.wait_for(lock, *task - env_.now(), ready);
  } else if (nothing) {
    wake_.wait(lock, ready);
  } else {
    wake_.wait_for(lock, kIdleTick, ready);
  }
  last_round_ns_ = nanoseconds(env_.now());  // before anybody takes the time it slept for that of a step
  busy_ = true;
}

void EngineThread::deliver(std::vector<Output> outputs) {
  for (Output& output : outputs) {
    const auto it = clients_.find(output.request);
    if (it == clients_.end()) continue;
    Client& client = it->second;
    const bool last = output.last;
    const RequestId id = output.request;
    if (!client.stream->push(std::move(output)) && !last) engine_->cancel(id);
    if (last) {
      by_stream_.erase(client.stream.get());
      std::erase(paused_, id);
      clients_.erase(it);
    } else if (!client.paused_since && client.stream->crowded()) {
      client.paused_since = env_.now();
      engine_->pause(id, true);
      paused_.push_back(id);
    }
  }
}

void EngineThread::look_after_paused() {
  std::erase_if(paused_, [&](RequestId id) {
    Client& client = clients_.at(id);
    if (client.stream->relaxed()) {
      client.paused_since.reset();
      engine_->pause(id, false);
      return true;
    }
    if (milliseconds_between(*client.paused_since, env_.now()) > config_.slow_reader_ms) engine_->cancel(id);
    return false;
  });
}

void EngineThread::fail(const std::string& what) {
  log::error("the engine failed: {}", what);
  alive_ = false;
  for (const auto& [id, client] : clients_) {
    client.stream->push(failed({ErrorCode::kInternal, "", "the engine has failed"}));
  }
  clients_.clear();
  by_stream_.clear();
  paused_.clear();
}

}  // namespace millrace::engine
