// Pages in host memory: swapped out and back, and as values.

#include "kv/swapped_pages.h"

#include <algorithm>

#include "kv/page_needs.h"
#include "kv/prefix_tree.h"

namespace millrace::kv {

namespace {

// The window pages of its first so many pages that a sequence of so many tokens goes on with.
std::span<const BlockId> needed_window(const WindowPages* window, const BlockTable& table, std::size_t pages,
                                       std::int64_t tokens) {
  if (window == nullptr) return {};
  const std::size_t first = std::min(std::max(table.behind(), window->first_seen(tokens)), pages);
  return table.window_blocks().subspan(first, pages - first);
}

}  // namespace

std::optional<SwapTicket> PagedCache::swap_out(BlockTable& table, std::int64_t tokens) {
  if (lost_) return std::nullopt;
  const auto pages = table.blocks().first(std::min(table.blocks().size(), table.pages_for(tokens)));
  auto ticket = swap_.store(pages, needed_window(window_.get(), table, pages.size(), tokens));
  if (!ticket) return ticket;
  counters_.swapped_out_pages += ticket->pages();
  table.truncate(0);
  return ticket;
}

bool PagedCache::swap_in(SwapTicket& ticket, BlockTable& table) {
  const std::int64_t tokens = ticket.pages() * config_.block_tokens;
  if (!kv::needed(*this, ticket, tokens).fits_in(room())) return false;
  const auto pages = static_cast<std::int32_t>(ticket.pages());
  if (pages > pool_.free()) counters_.evicted_pages += tree_->evict(pages - pool_.free(), tree_->now());
  if (window_) table.begin_behind(static_cast<std::size_t>(ticket.behind()));
  if (!table.reserve(tokens)) return false;
  const auto window_pages = table.window_blocks();
  swap_.load(ticket, table.blocks(), window_pages.subspan(std::min(table.behind(), window_pages.size())));
  counters_.swapped_in_pages += ticket.pages();
  return true;
}

std::optional<PageContents> PagedCache::export_pages(const BlockTable& table, std::int64_t tokens) const {
  const std::size_t bytes = page_bytes(), companion = device_.companion().page_bytes, window = window_page_bytes();
  const auto pages = table.blocks().first(pages_for(tokens));
  PageContents out{.pages = std::vector<std::byte>(pages.size() * bytes),
                   .companions = std::vector<std::byte>(pages.size() * companion),
                   .window = {},
                   .n = std::ssize(pages)};
  for (std::size_t i = 0; i < pages.size(); ++i) {
    device_.read(pages[i], std::span(out.pages).subspan(i * bytes, bytes));
    if (companion == 0) continue;
    device_.read_companion(pages[i], std::span(out.companions).subspan(i * companion, companion));
  }
  const auto window_pages = needed_window(window_.get(), table, pages.size(), tokens);
  out.n_window = std::ssize(window_pages);
  out.window.resize(window_pages.size() * window);
  for (std::size_t i = 0; i < window_pages.size(); ++i) {
    window_device_->read(window_pages[i], std::span(out.window).subspan(i * window, window));
  }
  if (!intact()) return std::nullopt;
  return out;
}

PageContents PagedCache::export_pages(const SwapTicket& ticket, std::int64_t tokens) const {
  return swap_.contents(ticket, pages_for(tokens));
}

std::int64_t rewind(const PagedCache& cache, SwapTicket& ticket, std::int64_t tokens) {
  const WindowPages* window = cache.window();
  if (window != nullptr && static_cast<std::int64_t>(window->first_seen(tokens)) < ticket.behind()) tokens = 0;
  ticket.truncate(static_cast<std::int64_t>(cache.pages_for(tokens)));
  return tokens;
}

Result<void> check_contents(const PagedCache& cache, const PageContents& contents, std::int64_t tokens) {
  const auto wrong = [](std::string_view what, std::int64_t has, std::int64_t expected) {
    return make_error(ErrorCode::kInvalidArgument, "pages", "{} bytes of {}: they take {}", has, what, expected);
  };
  const WindowPages* window = cache.window();
  const auto n = static_cast<std::int64_t>(cache.pages_for(tokens));
  const auto least = window != nullptr ? n - std::min(n, static_cast<std::int64_t>(window->first_seen(tokens))) : 0;
  const std::int64_t bytes = n * static_cast<std::int64_t>(cache.page_bytes());
  const auto each = static_cast<std::int64_t>(cache.window_page_bytes());
  if (contents.n != n || std::ssize(contents.pages) != bytes) return wrong("pages", std::ssize(contents.pages), bytes);
  if (contents.n_window < least || contents.n_window > (window != nullptr ? n : 0) ||
      std::ssize(contents.window) != contents.n_window * each) {
    return wrong("window pages", std::ssize(contents.window), least * each);
  }
  return {};
}

}  // namespace millrace::kv
