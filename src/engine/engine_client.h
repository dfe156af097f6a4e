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

// What a watchdog needs to know, and the queue lengths.
struct Heartbeat {
  bool alive = true;              // false: the engine failed and ended every stream with an error
  bool busy = true;               // false: it has nothing to do, and sleeps until it has
  double last_step_age_ms = 0.0;  // since the engine last came round; 0 while it has nothing to do
  std::int64_t requests = 0, waiting = 0, running = 0, paused = 0;
};

// What the pages hold now.
struct PageUse {
  kv::CacheUse pages;
  KvExtents extents;
};

// An engine as all see it that send it requests, wherever it runs: in a thread of this process (EngineThread), in
// another process, or behind a router. What passes is plain data. Thread-safe.
class EngineClient {
 public:
  virtual ~EngineClient() = default;

  // Never fails: a request that is wrong, or comes during a drain, gets its error as the stream's only output.
  // `on_ready` is the stream's (token_stream.h). Does not wait for the engine.
  virtual std::shared_ptr<TokenStream> submit(Request request, std::function<void()> on_ready = {}) = 0;
  // Ends the request within a step; the stream still gets its last output. Nothing for one that has ended.
  virtual void cancel(const std::shared_ptr<TokenStream>& stream) = 0;

  // Compiles what answers are to fit, so that requests with it wait no more (submit() does it for those that come
  // without). Takes up to grammar::WorkLimits of the calling thread, or of where the engine is. Which places of its
  // schemas were left out, where it asks for that. kResourceExhausted: it takes more; kInvalidArgument, kUnsupported:
  // it is none, or cannot be expressed; kCancelled once `cancelled` is true. Nothing is kept of those.
  virtual Result<std::vector<std::string>> compile_grammar(const chat::AnswerGrammar& source, std::uint32_t tenant,
                                                           const std::atomic<bool>& cancelled) = 0;
  // What the first grammar would have to wait for: a fraction of a second of the calling thread.
  virtual void prepare_grammars() = 0;

  // Sessions. They wait for the engine, up to a step; not from on_ready. kNotFound for one that is not open
  // (to close it is no error), kInvalidArgument for one that has a request in flight, or was never so long.
  virtual Result<SessionId> open_session() = 0;
  virtual Result<void> close_session(SessionId session) = 0;
  virtual Result<SessionId> fork_session(SessionId session) = 0;
  virtual Result<void> rollback_session(SessionId session, std::int64_t tokens) = 0;

  // Takes no more requests, lets those that are in finish, cancels what is left at the end of the time. Returns then.
  virtual void drain(double limit_ms) = 0;
  virtual Heartbeat heartbeat() const = 0;  // at once
  virtual EngineLimits limits() const = 0;  // at once; they never change
  // Waits for the engine, up to a step; not from on_ready.
  virtual Result<PageUse> page_use() = 0;
};

}  // namespace millrace::engine
