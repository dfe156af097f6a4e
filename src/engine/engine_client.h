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

// State of an engine for a watchdog, and lengths of its queues.
struct Heartbeat {
  bool alive = true;              // false: the engine has failed and ended every stream with an error
  bool busy = true;               // false: it has nothing to do and sleeps
  double last_step_age_ms = 0.0;  // since the engine's loop last began a round; 0 while it is not busy
  std::int64_t requests = 0, waiting = 0, running = 0, paused = 0;
};

// Current use of the KV pages.
struct PageUse {
  kv::CacheUse pages;
  KvExtents extents;
};

// The interface of an engine for all that send requests to it. The engine may run on a thread of this process
// (EngineThread), in another process, or behind a router: arguments and results are plain data. Thread-safe.
class EngineClient {
 public:
  virtual ~EngineClient() = default;

  // Submits a request and does not wait for the engine. Never fails: the error of an invalid request, or kUnavailable
  // after drain(), is the only output of the stream. Compiles request.grammar on the calling thread unless it is
  // cached. For `on_ready` see TokenStream.
  virtual std::shared_ptr<TokenStream> submit(Request request, std::function<void()> on_ready = {}) = 0;
  // Ends the request within a step; the stream still gets its last output. No effect if it has ended. Does not wait.
  virtual void cancel(const std::shared_ptr<TokenStream>& stream) = 0;

  // Compiles a grammar ahead of submit(), which otherwise does so itself, and caches it for `tenant`. Takes at most
  // grammar::WorkLimits of the calling thread, or of the engine's process. Returns the places of its schemas that were
  // ignored as unsupported, if the source allows that. kInvalidArgument: no valid grammar; kUnsupported: it cannot be
  // expressed; kResourceExhausted: it exceeds the limits; kCancelled: `cancelled` became true. Errors are not cached.
  virtual Result<std::vector<std::string>> compile_grammar(const chat::AnswerGrammar& source, std::uint32_t tenant,
                                                           const std::atomic<bool>& cancelled) = 0;
  // Does ahead what the first grammar would wait for. Takes a fraction of a second of the calling thread.
  virtual void prepare_grammars() = 0;

  // Operations on sessions. Each waits for the engine, up to a step, and must not be called from on_ready. fork and
  // rollback return kNotFound if the session is not open, and kInvalidArgument if it has a request in flight or, for
  // rollback, fewer than `tokens` tokens. Closing a session that is not open is no error.
  virtual Result<SessionId> open_session() = 0;
  virtual Result<void> close_session(SessionId session) = 0;
  virtual Result<SessionId> fork_session(SessionId session) = 0;
  virtual Result<void> rollback_session(SessionId session, std::int64_t tokens) = 0;

  // Rejects further requests, waits until those in flight have ended, and cancels the rest after `limit_ms`
  // milliseconds.
  virtual void drain(double limit_ms) = 0;
  virtual Heartbeat heartbeat() const = 0;  // does not wait for the engine
  virtual EngineLimits limits() const = 0;  // does not wait; constant
  // Waits for the engine, up to a step. Must not be called from on_ready.
  virtual Result<PageUse> page_use() = 0;
};

}  // namespace millrace::engine
