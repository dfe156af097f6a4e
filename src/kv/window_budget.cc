#include "kv/window_budget.h"

#include <algorithm>

#include "kv/paged_cache.h"

namespace millrace::kv {
namespace {

constexpr std::int64_t kMaxPages = std::int64_t{1} << 20;  // without memory of their own

std::int64_t pages_of(const KvBudget& budget, std::int64_t tokens) {
  return (tokens + budget.block_tokens - 1) / budget.block_tokens;
}

}  // namespace

std::int64_t ample_window_pages(const KvBudget& budget) noexcept {
  return budget.sequences * (pages_of(budget, budget.window) + 3) + pages_of(budget, budget.step_tokens);
}

KvSize size_for_tokens(const KvBudget& budget, std::int64_t tokens) noexcept {
  KvSize size{.pages = std::max<std::int64_t>(1, pages_of(budget, tokens))};
  if (budget.window_page_bytes == 0) return size;
  size.window_pages = static_cast<std::int32_t>(std::min({size.pages, ample_window_pages(budget), kMaxPages}));
  return size;
}

Result<KvSize> size_for_bytes(const KvBudget& budget, std::uint64_t bytes) {
  const std::size_t page = budget.page_bytes, window = budget.window_page_bytes;
  const auto holds = [](std::uint64_t space, std::size_t each) { return static_cast<std::int64_t>(space / each); };
  if (window == 0) {
    const std::int64_t pages = holds(bytes, page);
    if (pages > 0) return KvSize{.pages = pages};
    return make_error(ErrorCode::kInvalidArgument, "kv-cache-memory-bytes",
                      "kv-cache-memory-bytes is {}: a page of {} tokens takes {}", bytes, budget.block_tokens, page);
  }
  const std::int64_t least = min_window_pages(budget.window, budget.block_tokens);
  const std::uint64_t needed = static_cast<std::uint64_t>(least) * (page + window);
  if (bytes < needed) {
    return make_error(ErrorCode::kInvalidArgument, "kv-cache-memory-bytes",
                      "kv-cache-memory-bytes is {}: a window of {} tokens takes {}", bytes, budget.window, needed);
  }
  std::int64_t windows = 0, pages = 0;
  if (page == 0) {
    windows = std::min(holds(bytes, window), kMaxPages);
    pages = std::clamp(budget.sequences * pages_of(budget, budget.max_length), windows, std::max(windows, kMaxPages));
  } else {
    const std::int64_t step = least + pages_of(budget, budget.step_tokens);
    windows = std::clamp(holds(bytes / 2, window), step, std::max(step, ample_window_pages(budget)));
    windows = std::min(windows, holds(bytes, page + window));
    pages = holds(bytes - static_cast<std::uint64_t>(windows) * window, page);
  }
  return KvSize{.pages = pages, .window_pages = static_cast<std::int32_t>(windows)};
}

}  // namespace millrace::kv
