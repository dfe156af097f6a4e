#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"
#include "engine/engine_client.h"
#include "engine/idle_tasks.h"
#include "engine/token_stream.h"
#include "grammar/grammar_cache.h"

namespace millrace::engine {

struct ThreadConfig {
  double slow_reader_ms = 30'000.0;  // a request that was paused for so long, as its stream is not read, is cancelled
  std::vector<IdleTask> idle_tasks = {};
};

// An engine of this process behind EngineClient. Requests are messages to its thread, which owns the engine; outputs
// leave through a ring for each request. Thread-safe.
class EngineThread final : public EngineClient {
 public:
  // Starts the thread. `tokenizer` must be the engine's, since grammars are compiled for it. `env` must outlive it.
  EngineThread(std::unique_ptr<Engine> engine, std::shared_ptr<const text::Tokenizer> tokenizer, Env& env,
               const ThreadConfig& config = {});
  ~EngineThread() override;  // ends open streams with kCancelled; joins the thread
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  std::shared_ptr<TokenStream> submit(Request request, std::function<void()> on_ready = {}) override;
  void cancel(const std::shared_ptr<TokenStream>& stream) override;
  Result<std::vector<std::string>> compile_grammar(const chat::AnswerGrammar& source, std::uint32_t tenant,
                                                   const std::atomic<bool>& cancelled) override;
  void prepare_grammars() override { grammars_.prepare(); }
  Result<SessionId> open_session() override;
  Result<void> close_session(SessionId session) override;
  Result<SessionId> fork_session(SessionId session) override;
  Result<void> rollback_session(SessionId session, std::int64_t tokens) override;
  void drain(double limit_ms) override;
  Heartbeat heartbeat() const override;
  EngineLimits limits() const override { return limits_; }
  Result<PageUse> page_use() override;

  // Runs `work(engine)` on the engine thread between two steps, and waits for its result. Must not be called on the
  // engine thread, so not from on_ready. `work` must return a value and not throw.
  template <typename Work>
  auto call(Work work) {
    std::promise<decltype(work(std::declval<Engine&>()))> done;
    auto result = done.get_future();
    post([&](Engine& engine) { done.set_value(work(engine)); });
    return result.get();
  }

 private:
  struct Client {
    std::shared_ptr<TokenStream> stream;
    std::optional<TimePoint> paused_since;
  };
  void post(std::function<void(Engine&)> message);
  void run();
  void take_messages();
  void wait_for_work();
  void deliver(std::vector<Output> outputs);
  void look_after_paused();
  void fail(const std::string& what);
  void accept(Request request, std::shared_ptr<grammar::CompiledGrammar> grammar,
              const std::shared_ptr<TokenStream>& stream);

  std::unique_ptr<Engine> engine_;
  Env& env_;
  ThreadConfig config_;
  const EngineLimits limits_;
  grammar::GrammarCache grammars_;  // any thread compiles; only the engine thread uses the results

  std::mutex mutex_;  // guards inbox_
  std::condition_variable wake_;
  std::vector<std::function<void(Engine&)>> inbox_;
  std::atomic<bool> stopping_ = false, draining_ = false, alive_ = true, busy_ = false;
  std::atomic<std::int64_t> last_round_ns_ = 0, requests_ = 0, waiting_ = 0, running_ = 0, paused_count_ = 0;

  // Used by the engine thread only.
  std::unordered_map<RequestId, Client> clients_;
  std::unordered_map<const TokenStream*, RequestId> by_stream_;
  std::vector<RequestId> paused_;
  std::vector<std::promise<void>> drained_;
  std::optional<TimePoint> drain_end_;
  IdleTasks idle_tasks_;

  std::thread thread_;
};

}  // namespace millrace::engine
