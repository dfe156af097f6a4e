#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine_limits.h"
#include "engine/kv_extents.h"
#include "engine/request.h"
#include "engine/token_stream.h"
#include "kv/paged_cache.h"

namespace millrace::engine {

// Whether an engine is alive and working, and the lengths of its queues.
struct Heartbeat {
  bool alive = true;              // false: the engine failed and ended every stream with an error
  bool busy = true;               // false: the engine has nothing to do and sleeps
  double last_step_age_ms = 0.0;  // since the engine thread's last round; 0 while it sleeps
  std::int64_t requests = 0, waiting = 0, running = 0, paused = 0;
};

// What the pages of the KV cache are used for, and how they lie in memory.
struct PageUse {
  kv::CacheUse pages;
  KvExtents extents;
};

// The interface to an engine for everything that sends it requests. The engine may be a thread of this process
// (EngineThread), another process, or a router's. All arguments and results are plain data. Thread-safe.
class EngineClient {
 public:
  virtual ~EngineClient() = default;

  // Submits the request without waiting for the engine, and never fails: an invalid request, or one during a drain,
  // gets its error as the stream's only output. `on_ready` is passed to the TokenStream.
  virtual std::shared_ptr<TokenStream> submit(Request request, std::function<void()> on_ready = {}) = 0;
  // Ends the request within a step; the stream still gets its last output. Does nothing for a request that has ended.
  virtual void cancel(const std::shared_ptr<TokenStream>& stream) = 0;

  // Compiles a grammar ahead, so that requests with it need not wait; submit() compiles the others itself. Takes time
  // and memory up to grammar::WorkLimits, of the calling thread or where the engine is. Returns the places in its
  // schemas that were left out, if the source allows that. kResourceExhausted beyond the limits, kInvalidArgument for
  // an invalid grammar, kUnsupported for one that cannot be expressed, kCancelled once `cancelled` is true; nothing is
  // kept then.
  virtual Result<std::vector<std::string>> compile_grammar(const chat::AnswerGrammar& source, std::uint32_t tenant,
                                                           const std::atomic<bool>& cancelled) = 0;
  // Prepares the vocabulary for grammars, which the first compile_grammar() would otherwise do. Takes a fraction of a
  // second of the calling thread.
  virtual void prepare_grammars() = 0;

  // Operations on sessions. Each waits for the engine, up to a step; do not call them from on_ready. kNotFound for a
  // session that is not open, except from close_session(). kInvalidArgument if it has a request in flight, or fewer
  // than `tokens` tokens.
  virtual Result<SessionId> open_session() = 0;
  virtual Result<void> close_session(SessionId session) = 0;
  virtual Result<SessionId> fork_session(SessionId session) = 0;
  virtual Result<void> rollback_session(SessionId session, std::int64_t tokens) = 0;

  // Rejects new requests, waits up to `limit_ms` for those in flight, and cancels the rest.
  virtual void drain(double limit_ms) = 0;
  virtual Heartbeat heartbeat() const = 0;  // does not wait for the engine
  virtual EngineLimits limits() const = 0;  // does not wait for the engine; never changes
  // Waits for the engine, up to a step; do not call it from on_ready.
  virtual Result<PageUse> page_use() = 0;
};

}  // namespace millrace::engine
