#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "engine/request.h"
#include "kv/paged_cache.h"

namespace millrace::engine {

// Interactive sessions: the tokens of a conversation, and their pages, which stay between requests while there is room.
// The least recently used session loses its pages first; its next request computes them again. Engine thread only.
class Sessions {
 public:
  struct Session {
    std::vector<std::int32_t> tokens;  // prompt and answer of all rounds
    std::int64_t computed = 0;         // the first so many of `tokens` have their keys and values in the pages
    kv::BlockTable blocks;
    std::optional<kv::SwapTicket> swapped;  // the pages in host memory; `blocks` is empty then
    kv::PrefixScope scope;                  // prefix cache scope that the pages were published under
    bool busy = false;                      // a request of the session is in flight and has its pages
    std::uint64_t last_use = 0;             // grows with each use of any session
  };

  // Idle sessions together hold at most `max_pages` pages of the device. With `swap`, pages beyond that move to swap
  // space while it has room; otherwise they are freed.
  Sessions(kv::PagedCache& cache, std::int32_t max_pages, bool swap, SessionId first_id = 1)
      : cache_(cache), max_pages_(max_pages), swap_(swap), next_id_(first_id) {}

  SessionId open();
  void close(SessionId id);  // does nothing for an unknown id; a request in flight goes on without the session
  // Opens a session with the tokens of `from`; both share the pages. kNotFound if `from` is not open, kInvalidArgument
  // if it is busy.
  Result<SessionId> fork(SessionId from);
  // Keeps the first `tokens` tokens alone. kInvalidArgument if the session is busy or has fewer.
  Result<void> rollback(SessionId id, std::int64_t tokens);
  // The session. kNotFound if it is not open, kInvalidArgument if it is busy.
  Result<Session*> idle(SessionId id);
  Result<const Session*> idle(SessionId id) const;
  Session* find(SessionId id) noexcept;

  // Lends the session's pages to a request and marks the session busy. The request gets those of the common beginning
  // of `prompt` and the session's tokens, without the prompt's last token; none if `scope` differs. Returns the number
  // of tokens. Pages in host memory go to `swapped`, and `table` stays empty.
  std::int64_t lease(Session& session, const std::vector<std::int32_t>& prompt, const kv::PrefixScope& scope,
                     kv::BlockTable& table, std::optional<kv::SwapTicket>& swapped);
  // Ends the lease. `tokens` are prompt and answer; the first `computed` have their keys and values in the pages.
  void return_lease(Session& session, std::vector<std::int32_t> tokens, std::int64_t computed, kv::BlockTable table,
                    std::optional<kv::SwapTicket> swapped);

  // Takes the pages of the least recently used idle session from the device; false if no idle session has any.
  bool reclaim();
  // Frees the swap space of the least recently used session that has any; false if none has.
  bool reclaim_swap_space();
  std::int64_t swap_space_pages() const noexcept;  // pages of swap space that sessions hold
  // Appends the block tables of all sessions.
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
