#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/result.h"
#include "engine/request.h"
#include "kv/paged_cache.h"

namespace millrace::engine {

// Interactive sessions: what was said so far, and the pages of it, which stay between requests while there is room.
// Those of the session used longest ago go first; then its next request computes them anew. Engine thread only.
class Sessions {
 public:
  struct Session {
    std::vector<std::int32_t> tokens;  // prompt and answer of all rounds
    std::int64_t computed = 0;         // of them, those whose keys and values are in blocks
    kv::BlockTable blocks;
    kv::PrefixScope scope;  // that blocks were published under; other scopes do not find them
    bool busy = false;
    std::uint64_t last_use = 0;
  };

  // Idle sessions hold at most `max_pages`.
  Sessions(kv::PagedCache& cache, std::int32_t max_pages) : cache_(cache), max_pages_(max_pages) {}

  SessionId open();
  void close(SessionId id);  // one with a request in flight forgets it
  // A new session that begins with all that `from` has; pages are shared. kNotFound, or kInvalidArgument for a busy
  // one.
  Result<SessionId> fork(SessionId from);
  // Forgets all but the first `tokens` tokens.
  Result<void> rollback(SessionId id, std::int64_t tokens);
  // The session, idle; or the error that says why not.
  Result<Session*> idle(SessionId id);
  Result<const Session*> idle(SessionId id) const;
  Session* find(SessionId id) noexcept;

  // Takes the pages for a request whose prompt is `prompt`: those of the tokens that both begin with, at least one
  // token less than the prompt has; none if the request may not share with the one before. Returns their number of
  // tokens.
  std::int64_t lease(Session& session, const std::vector<std::int32_t>& prompt, const kv::PrefixScope& scope,
                     kv::BlockTable& table);
  void return_lease(Session& session, std::vector<std::int32_t> tokens, std::int64_t computed, kv::BlockTable table);

  // Gives up the pages of the idle session used longest ago; false if none has any.
  bool reclaim();
  void collect(std::vector<const kv::BlockTable*>& tables) const;
  void collect(std::vector<kv::BlockTable*>& tables);

 private:
  void limit();
  kv::PagedCache& cache_;
  std::int32_t max_pages_;
  std::map<SessionId, Session> sessions_;
  SessionId next_id_ = 1;
  std::uint64_t clock_ = 0;
};

}  // namespace millrace::engine
