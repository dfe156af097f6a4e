#pragma once

// An EngineClient for tests of the server, which shows that a server needs no Engine in its process. Requests and
// outputs cross a queue as plain copies, and a thread of its own answers with a FarEngine. Grammars are compiled and
// not applied.

#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <set>
#include <thread>
#include <type_traits>

#include "engine/engine_client.h"
#include "engine/testing/plain_copy.h"
#include "server/testing/far_engine.h"

namespace millrace::server {

class RemoteEngine final : public engine::EngineClient {
 public:
  // `step`: time between two steps of the far side.
  explicit RemoteEngine(std::chrono::milliseconds step) : step_(step), thread_([this] { run(); }) {}
  ~RemoteEngine() override {
    send([this] { stopping_ = true; });
    thread_.join();
  }

  std::shared_ptr<engine::TokenStream> submit(engine::Request request, std::function<void()> on_ready = {}) override {
    auto stream = std::make_shared<engine::TokenStream>(request.n, std::move(on_ready));
    send([this, stream, request = engine::plain_copy(request)]() mutable {
      if (drain_end_) return fail(*stream, {ErrorCode::kUnavailable, "", "the engine is shutting down"});
      streams_.emplace(++last_id_, stream);
      far_.submit(last_id_, std::move(request));
    });
    return stream;
  }
  void cancel(const std::shared_ptr<engine::TokenStream>& stream) override {
    send([this, stream] {
      for (const auto& [id, open] : streams_) {
        if (open == stream) far_.cancel(id);
      }
    });
  }
  Result<std::vector<std::string>> compile_grammar(const chat::AnswerGrammar& source, std::uint32_t,
                                                   const std::atomic<bool>& cancelled) override {
    grammar::WorkMeter meter({}, &cancelled);
    const auto built = chat::build_grammar(source, meter);
    if (!built) return built.error();
    return built->ignored();
  }
  void prepare_grammars() override {}
  Result<engine::SessionId> open_session() override {
    return ask([this]() -> Result<engine::SessionId> { return far_.open_session(); });
  }
  Result<void> close_session(engine::SessionId session) override {
    return ask([&]() -> Result<void> {
      far_.close_session(session);
      return {};
    });
  }
  Result<engine::SessionId> fork_session(engine::SessionId session) override {
    return ask([&] { return far_.fork_session(session); });
  }
  Result<void> rollback_session(engine::SessionId session, std::int64_t tokens) override {
    return ask([&] { return far_.rollback_session(session, tokens); });
  }
  void drain(double limit_ms) override {
    std::promise<void> done;
    auto drained = done.get_future();
    send([&] {
      drain_end_ = Clock::now() + std::chrono::microseconds(static_cast<std::int64_t>(limit_ms * 1e3));
      drained_.push_back(std::move(done));
    });
    drained.get();
  }
  engine::Heartbeat heartbeat() const override {
    engine::Heartbeat beat;
    beat.requests = beat.running = requests_;
    beat.paused = paused_;
    beat.busy = beat.requests > 0;
    return beat;
  }
  engine::EngineLimits limits() const override {
    return {.vocab_size = simulator::kLetters, .max_length = 8192, .kv_capacity_tokens = 8192, .kv_bytes = 1 << 20};
  }
  Result<engine::PageUse> page_use() override {
    engine::PageUse use;
    use.pages.total = use.pages.free = 256;
    return use;
  }

 private:
  void send(std::function<void()> message) {
    {
      const std::lock_guard lock(mutex_);
      inbox_.push_back(std::move(message));
    }
    wake_.notify_one();
  }
  // Runs `work` on the thread of the far side, and waits for its result.
  template <typename Work>
  std::invoke_result_t<Work> ask(Work work) {
    std::promise<std::invoke_result_t<Work>> done;
    auto answer = done.get_future();
    send([&] { done.set_value(work()); });
    return answer.get();
  }
  static void fail(engine::TokenStream& stream, Error error) {
    engine::Output output;
    output.finish = engine::FinishReason::kError;
    output.last = true;
    output.error = std::move(error);
    stream.push(std::move(output));
  }

  void run() {
    while (!stopping_) {
      take_messages();
      for (const engine::Output& output : far_.step()) deliver(engine::plain_copy(output));
      look_after_paused();
      if (drain_end_ && Clock::now() >= *drain_end_) far_.cancel_all();
      requests_ = static_cast<std::int64_t>(streams_.size());
      if (streams_.empty()) {
        for (std::promise<void>& done : std::exchange(drained_, {})) done.set_value();
      }
      std::this_thread::sleep_for(step_);
    }
    for (const auto& [id, stream] : streams_) fail(*stream, {ErrorCode::kCancelled, "", "the engine was stopped"});
  }
  // Runs the messages of the inbox; waits for one where no request runs.
  void take_messages() {
    std::vector<std::function<void()>> messages;
    {
      std::unique_lock lock(mutex_);
      const auto any = [this] { return !inbox_.empty(); };
      if (streams_.empty()) {
        wake_.wait(lock, any);
      } else if (paused_ > 0) {
        wake_.wait_for(lock, std::chrono::milliseconds(1), any);
      }
      messages.swap(inbox_);
    }
    for (const auto& message : messages) message();
  }
  void deliver(engine::Output output) {
    const auto it = streams_.find(output.request);
    const bool last = output.last;
    static_cast<void>(it->second->push(std::move(output)));
    if (!last) return;
    paused_ids_.erase(it->first);
    streams_.erase(it);
  }
  void look_after_paused() {
    for (const auto& [id, stream] : streams_) {
      if (stream->crowded() && paused_ids_.insert(id).second) far_.pause(id, true);
      if (stream->relaxed() && paused_ids_.erase(id) > 0) far_.pause(id, false);
    }
    paused_ = static_cast<std::int64_t>(paused_ids_.size());
  }

  const std::chrono::milliseconds step_;
  std::mutex mutex_;  // guards inbox_
  std::condition_variable wake_;
  std::vector<std::function<void()>> inbox_;
  std::atomic<std::int64_t> requests_ = 0, paused_ = 0;

  // Used by thread_ alone, down to drained_.
  bool stopping_ = false;
  FarEngine far_;
  std::map<FarEngine::Id, std::shared_ptr<engine::TokenStream>> streams_;
  std::set<FarEngine::Id> paused_ids_;
  FarEngine::Id last_id_ = 0;
  std::optional<TimePoint> drain_end_;
  std::vector<std::promise<void>> drained_;
  std::thread thread_;
};

}  // namespace millrace::server
