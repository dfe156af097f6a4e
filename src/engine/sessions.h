#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "engine/request.h"
#include "kv/paged_cache.h"

namespace millrace::engine {

// Interactive sessions: their tokens, and pages that stay between requests while memory suffices. The least recently
// used session loses its pages first; its next request computes them again. Engine thread only.
class Sessions {
 public:
  struct Session {
    std::vector<std::int32_t> tokens;  // prompt and answer of all rounds
    std::int64_t computed = 0;         // number of first tokens whose keys and values are in `blocks` or `swapped`
    kv::BlockTable blocks;
    std::optional<kv::SwapTicket> swapped;  // pages of `computed` tokens in host memory; `blocks` is then empty
    kv::PrefixScope scope;                  // under which the pages were computed; requests of others cannot use them
    bool busy = false;                      // has a request in flight, to which the pages are leased
    std::uint64_t last_use = 0;             // larger = later
  };

  // Idle sessions hold at most the share `max_share` of the pages, and of window pages. With `swap`, pages that they
  // lose are moved to swap space if it has room, else freed. The cache must outlive it. Ids count up from `first_id`.
  Sessions(kv::PagedCache& cache, double max_share, bool swap, SessionId first_id = 1)
      : cache_(cache), max_share_(max_share), swap_(swap), next_id_(first_id) {}

  SessionId open();
  // Frees the session's pages. A request in flight continues without the session. No effect if it is not open.
  void close(SessionId id);
  // A new session with the tokens of `from`; pages are shared, unless they are in swap space. kNotFound, or
  // kInvalidArgument if `from` is busy; both name `session`.
  Result<SessionId> fork(SessionId from);
  // Drops all but the first `tokens` tokens. Errors of fork(), or kInvalidArgument naming `tokens` if the session has
  // fewer.
  Result<void> rollback(SessionId id, std::int64_t tokens);
  // The session if it is idle; kNotFound, or kInvalidArgument if it is busy. Valid until it is closed.
  Result<Session*> idle(SessionId id);
  Result<const Session*> idle(SessionId id) const;
  Session* find(SessionId id) noexcept;  // null if it is not open

  // Leases the session's pages to a request with this prompt, and makes the session busy. `table` gets the pages of
  // their common prefix, or `swapped` gets them if they are in host memory. Returns the number of these tokens: at most
  // prompt.size() - 1, and 0 if `scope` differs from the session's. Pages of other tokens are freed.
  std::int64_t lease(Session& session, const std::vector<std::int32_t>& prompt, const kv::PrefixScope& scope,
                     kv::BlockTable& table, std::optional<kv::SwapTicket>& swapped);
  // Ends the lease at the end of the request: the session has these tokens, and the pages of the first `computed` ones.
  void return_lease(Session& session, std::vector<std::int32_t> tokens, std::int64_t computed, kv::BlockTable table,
                    std::optional<kv::SwapTicket> swapped);

  // Swaps out or frees the pages of the least recently used idle session; false if none has any.
  bool reclaim();
  // Frees the swap space of the least recently used session that has some; false if none has.
  bool reclaim_swap_space();
  std::int64_t swap_space_pages() const noexcept;  // pages of swap space that sessions hold
  // Append the block tables of all sessions.
  void collect(std::vector<const kv::BlockTable*>& tables) const;
  void collect(std::vector<kv::BlockTable*>& tables);

 private:
  void limit();
  std::int64_t rewind(Session& session, std::int64_t tokens) const;
  kv::PagedCache& cache_;
  double max_share_;
  bool swap_;
  std::map<SessionId, Session> sessions_;
  SessionId next_id_;
  std::uint64_t clock_ = 0;
};

}  // namespace millrace::engine
