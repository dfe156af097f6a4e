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
#include "engine/token_stream.h"

namespace millrace::engine {

struct ThreadConfig {
  double slow_reader_ms = 30'000.0;  // a stream that is not read from is cancelled after this
};

// What a watchdog needs to know, and the queue lengths; read from any thread.
struct Heartbeat {
  bool alive = true;              // false: the engine failed and ended every stream with an error
  bool busy = true;               // false: it has nothing to do, and sleeps until it has
  double last_step_age_ms = 0.0;  // since the engine thread last came round; 0 while it has nothing to do
  std::int64_t requests = 0, waiting = 0, running = 0, paused = 0;
};

// The door to an engine for any number of threads: requests go in as messages, outputs come out through a ring each.
// One thread owns the engine and all that belongs to it.
class EngineThread {
 public:
  EngineThread(std::unique_ptr<Engine> engine, Env& env, const ThreadConfig& config = {});
  ~EngineThread();  // cancels what runs
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  // Never fails: a request that is wrong, or comes during a drain, gets its error as the stream's only output.
  std::shared_ptr<TokenStream> submit(Request request, std::function<void()> on_ready = {});
  // Ends the request within a step; the stream still gets its last output. Nothing for one that has ended.
  void cancel(const std::shared_ptr<TokenStream>& stream);
  // Runs `work` on the engine thread between two steps and waits for it: sessions, counters. Not from on_ready.
  template <typename Work>
  auto call(Work work) {
    std::promise<decltype(work(std::declval<Engine&>()))> done;
    auto result = done.get_future();
    post([&](Engine& engine) { done.set_value(work(engine)); });
    return result.get();
  }

  // Takes no more requests, lets those that are in finish, cancels what is left at the end of the time. Returns then.
  void drain(double limit_ms);
  Heartbeat heartbeat() const;

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
  void accept(Request request, const std::shared_ptr<TokenStream>& stream);

  std::unique_ptr<Engine> engine_;
  Env& env_;
  ThreadConfig config_;

  std::mutex mutex_;  // of inbox_ and wake_
  std::condition_variable wake_;
  std::vector<std::function<void(Engine&)>> inbox_;
  std::atomic<bool> stopping_ = false, draining_ = false, alive_ = true, busy_ = false;
  std::atomic<std::int64_t> last_round_ns_ = 0, requests_ = 0, waiting_ = 0, running_ = 0, paused_count_ = 0;

  // The engine thread's own.
  std::unordered_map<RequestId, Client> clients_;
  std::unordered_map<const TokenStream*, RequestId> by_stream_;
  std::vector<RequestId> paused_;
  std::vector<std::promise<void>> drained_;
  std::optional<TimePoint> drain_end_;

  std::thread thread_;
};

}  // namespace millrace::engine
