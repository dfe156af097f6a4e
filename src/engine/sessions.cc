#include "engine/sessions.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kv/page_needs.h"
#include "kv/swapped_pages.h"

namespace millrace::engine {

// The scope is its own and of those forked from it, until a request brings another.
SessionId Sessions::open() {
  const SessionId id = next_id_++;
  sessions_.emplace(
      id,
      Session{.blocks = cache_.make_table(), .scope = {.salt = "session " + std::to_string(id)}, .last_use = ++clock_});
  return id;
}

void Sessions::close(SessionId id) { sessions_.erase(id); }

Sessions::Session* Sessions::find(SessionId id) noexcept {
  const auto it = sessions_.find(id);
  return it == sessions_.end() ? nullptr : &it->second;
}

Result<const Sessions::Session*> Sessions::idle(SessionId id) const {
  const auto it = sessions_.find(id);
  if (it == sessions_.end()) return make_error(ErrorCode::kNotFound, "session", "no session {}", id);
  if (it->second.busy) {
    return make_error(ErrorCode::kInvalidArgument, "session", "session {} has a request in flight", id);
  }
  return &it->second;
}

Result<Sessions::Session*> Sessions::idle(SessionId id) {
  if (auto found = std::as_const(*this).idle(id); !found) return found.error();
  return find(id);
}

Result<SessionId> Sessions::fork(SessionId from) {
  auto source = idle(from);
  if (!source) return source.error();
  Session copy{.tokens = (*source)->tokens,
               .computed = (*source)->swapped ? 0 : (*source)->computed,  // what is in host memory is not shared
               .blocks = cache_.make_table(),
               .scope = (*source)->scope,
               .last_use = ++clock_};
  copy.blocks.share((*source)->blocks.blocks(), (*source)->blocks.behind());
  sessions_.emplace(next_id_, std::move(copy));
  return next_id_++;
}

Result<void> Sessions::rollback(SessionId id, std::int64_t tokens) {
  auto found = idle(id);
  if (!found) return found.error();
  Session& session = **found;
  if (const auto length = static_cast<std::int64_t>(session.tokens.size()); tokens < 0 || tokens > length) {
    return make_error(ErrorCode::kInvalidArgument, "tokens", "tokens is {}: the session has {}", tokens, length);
  }
  session.tokens.resize(static_cast<std::size_t>(tokens));
  session.computed = rewind(session, std::min(session.computed, tokens));
  return {};
}

std::int64_t Sessions::lease(Session& session, const std::vector<std::int32_t>& prompt, const kv::PrefixScope& scope,
                             kv::BlockTable& table, std::optional<kv::SwapTicket>& swapped) {
  const std::int64_t common = kv::common_tokens(session.scope, scope, cache_.block_tokens());
  if (common == 0) {
    session.blocks.truncate(0);
    session.swapped.reset();
    session.computed = 0;
  }
  if (session.scope != scope) {
    session.scope = scope;
    session.blocks.set_cursor({});  // it goes on elsewhere
  }
  const auto computed_end = session.tokens.begin() + session.computed;
  const auto [end, ignored] = std::mismatch(session.tokens.begin(), computed_end, prompt.begin(), prompt.end());
  const std::int64_t kept =
      rewind(session, std::min<std::int64_t>({end - session.tokens.begin(), std::ssize(prompt) - 1, common}));
  table = std::exchange(session.blocks, cache_.make_table());
  swapped = std::exchange(session.swapped, std::nullopt);
  session.busy = true;
  session.computed = 0;
  session.last_use = ++clock_;
  return kept;
}

void Sessions::return_lease(Session& session, std::vector<std::int32_t> tokens, std::int64_t computed,
                            kv::BlockTable table, std::optional<kv::SwapTicket> swapped) {
  session.busy = false;
  session.tokens = std::move(tokens);
  session.computed = computed;
  session.blocks = std::move(table);
  session.blocks.truncate(computed);
  session.blocks.release_behind(computed);
  session.swapped = std::move(swapped);
  session.last_use = ++clock_;
  limit();
}

// Keeps the pages of these tokens and no more, which would be brought back for nothing; of fewer tokens where a window
// lacks what it sees of them. Returns how many.
std::int64_t Sessions::rewind(Session& session, std::int64_t tokens) const {
  if (!session.swapped) return cache_.rewind(session.blocks, tokens);
  tokens = kv::rewind(cache_, *session.swapped, tokens);
  if (tokens == 0) session.swapped.reset();
  return tokens;
}

bool Sessions::reclaim() {
  Session* oldest = nullptr;
  for (auto& [id, session] : sessions_) {
    if (session.busy || session.blocks.blocks().empty()) continue;
    if (oldest == nullptr || session.last_use < oldest->last_use) oldest = &session;
  }
  if (oldest == nullptr) return false;
  if (swap_) oldest->swapped = cache_.swap_out(oldest->blocks, oldest->computed);
  if (oldest->swapped) return true;
  oldest->blocks.truncate(0);
  oldest->computed = 0;
  return true;
}

bool Sessions::reclaim_swap_space() {
  Session* oldest = nullptr;
  for (auto& [id, session] : sessions_) {
    if (!session.swapped) continue;
    if (oldest == nullptr || session.last_use < oldest->last_use) oldest = &session;
  }
  if (oldest == nullptr) return false;
  oldest->swapped.reset();
  oldest->computed = 0;
  return true;
}

std::int64_t Sessions::swap_space_pages() const noexcept {
  std::int64_t pages = 0;
  for (const auto& [id, session] : sessions_) pages += session.swapped ? session.swapped->space_pages() : 0;
  return pages;
}

void Sessions::collect(std::vector<const kv::BlockTable*>& tables) const {
  for (const auto& [id, session] : sessions_) tables.push_back(&session.blocks);
}

void Sessions::collect(std::vector<kv::BlockTable*>& tables) {
  for (auto& [id, session] : sessions_) tables.push_back(&session.blocks);
}

void Sessions::limit() {
  const kv::CacheUse all = cache_.use();
  const kv::PageCount most{.pages = static_cast<std::int32_t>(max_share_ * all.total),
                           .window = static_cast<std::int32_t>(max_share_ * all.window_total)};
  const auto held = [&] {
    kv::PageCount sum;
    for (const auto& [id, session] : sessions_) {
      if (session.busy) continue;
      const auto pages = static_cast<std::int32_t>(session.blocks.blocks().size());
      sum += kv::at_end(cache_, pages);
      if (cache_.window() != nullptr) sum.window -= static_cast<std::int32_t>(session.blocks.behind());
    }
    return sum;
  };
  while (!held().fits_in(most) && reclaim()) {
  }
}

}  // namespace millrace::engine
