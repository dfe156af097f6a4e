#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
    std::optional<kv::SwapTicket> swapped;  // has the pages of `computed` tokens instead, in host memory
    kv::PrefixScope scope;                  // that blocks were published under; other scopes do not find them
    bool busy = false;
    std::uint64_t last_use = 0;
  };

  // Idle sessions hold at most `max_pages` of the device. With `swap`, what they lose of these goes to swap space while
  // there is some, else it is given up.
  Sessions(kv::PagedCache& cache, std::int32_t max_pages, bool swap, SessionId first_id = 1)
      : cache_(cache), max_pages_(max_pages), swap_(swap), next_id_(first_id) {}

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
  // tokens. Where they are in host memory, `swapped` gets them and the table stays empty.
  std::int64_t lease(Session& session, const std::vector<std::int32_t>& prompt, const kv::PrefixScope& scope,
                     kv::BlockTable& table, std::optional<kv::SwapTicket>& swapped);
  void return_lease(Session& session, std::vector<std::int32_t> tokens, std::int64_t computed, kv::BlockTable table,
                    std::optional<kv::SwapTicket> swapped);

  // Takes the pages of the idle session used longest ago from the device; false if none has any.
  bool reclaim();
  // Gives up the swap space of the session used longest ago, which then computes anew; false if no session has any.
  bool reclaim_swap_space();
  std::int64_t swap_space_pages() const noexcept;  // pages of swap space that sessions hold
  void collect(std::vector<const kv::BlockTable*>& tables) const;
  void collect(std::vector<kv::BlockTable*>& tables);

 private:
  void limit();
  void truncate(std::optional<kv::SwapTicket>& swapped, std::int64_t tokens) const;
  kv::PagedCache& cache_;
  std::int32_t max_pages_;
  bool swap_;
  std::map<SessionId, Session> sessions_;
  SessionId next_id_;
  std::uint64_t clock_ = 0;
};

}  // namespace millrace::engine
