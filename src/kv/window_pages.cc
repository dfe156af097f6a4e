#include "kv/window_pages.h"

#include "base/check.h"

namespace millrace::kv {

WindowPages::WindowPages(std::int64_t window, std::int64_t block_tokens, std::int32_t pages, std::int32_t total,
                         PageDevice& device)
    : window_(window),
      block_tokens_(block_tokens),
      pool_(total, &device),
      numbers_(static_cast<std::size_t>(pages), kNoBlock),
      pages_(static_cast<std::size_t>(total), kNoBlock),
      found_(static_cast<std::size_t>(total), 0),
      ranks_(static_cast<std::size_t>(total)) {
  CHECK_LT(0, window);
  pool_.watch(this);
}

std::size_t WindowPages::first_seen(std::int64_t next) const noexcept {
  return next < window_ ? 0 : static_cast<std::size_t>((next - window_ + 1) / block_tokens_);
}

std::int64_t WindowPages::reach(std::span<const BlockId> pages, std::int64_t tokens) const noexcept {
  while (tokens > 0) {
    const auto first = static_cast<std::int64_t>(first_seen(tokens));
    std::int64_t page = (tokens - 1) / block_tokens_;
    while (page >= first && of(pages[static_cast<std::size_t>(page)]) != kNoBlock) --page;
    if (page < first) break;
    tokens = page * block_tokens_;
  }
  return tokens;
}

bool WindowPages::take(std::span<const BlockId> pages, BlockId after, std::vector<BlockId>& out) {
  const auto n = static_cast<std::int32_t>(pages.size());
  if (n > available()) return false;
  if (n > free()) evict(n - free());
  const std::size_t first = out.size();
  CHECK(pool_.allocate(n, after, out));
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const BlockId number = out[first + i];
    CHECK_EQ(of(pages[i]), kNoBlock);
    numbers_[static_cast<std::size_t>(pages[i])] = number;
    pages_[static_cast<std::size_t>(number)] = pages[i];
    found_[static_cast<std::size_t>(number)] = 0;
  }
  return true;
}

void WindowPages::retain(BlockId page) {
  CHECK_LE(0, of(page));
  pool_.retain(of(page));
}

void WindowPages::release(BlockId page, bool behind) {
  const BlockId number = of(page);
  CHECK_LE(0, number);
  leaving_ = behind;
  pool_.release(number);
  leaving_ = false;
  if (pool_.references(number) == 0) freed(page);
}

void WindowPages::freed(BlockId page) {
  BlockId& number = numbers_[static_cast<std::size_t>(page)];
  pages_[static_cast<std::size_t>(number)] = kNoBlock;
  number = kNoBlock;
}

void WindowPages::published(BlockId page) {
  const BlockId number = of(page);
  if (number != kNoBlock && !pool_.published(number)) pool_.publish(number);
}

void WindowPages::unpublished(BlockId page) {
  const BlockId number = of(page);
  if (number == kNoBlock) return;
  if (pool_.references(number) == 1) order_.erase(ranks_[static_cast<std::size_t>(number)]);
  pool_.unpublish(number);
  if (pool_.references(number) == 0) freed(page);
}

void WindowPages::renamed(BlockId from, BlockId to) {
  const BlockId number = std::exchange(numbers_[static_cast<std::size_t>(from)], kNoBlock);
  CHECK_EQ(of(to), kNoBlock);
  numbers_[static_cast<std::size_t>(to)] = number;
  if (number != kNoBlock) pages_[static_cast<std::size_t>(number)] = to;
}

std::int32_t WindowPages::evict(std::int32_t n) {
  std::int32_t evicted = 0;
  for (; evicted < n && !order_.empty(); ++evicted) {
    unpublished(pages_[static_cast<std::size_t>(order_.begin()->second)]);
  }
  evicted_ += evicted;
  return evicted;
}

void WindowPages::idle_changed(BlockId number, bool idle) {
  Rank& rank = ranks_[static_cast<std::size_t>(number)];
  if (idle) {
    rank = {!leaving_ || found_[static_cast<std::size_t>(number)] != 0, ++clock_};
    order_.emplace(rank, number);
  } else {
    order_.erase(rank);
  }
}

void WindowPages::check_integrity(const BlockPool& pages) const {
  pool_.check_integrity();
  std::int32_t taken = 0;
  for (BlockId page = 0; page < pages.total(); ++page) {
    const BlockId number = of(page);
    if (number == kNoBlock) continue;
    ++taken;
    CHECK_EQ(pages_[static_cast<std::size_t>(number)], page);
    CHECK_LT(0, pages.references(page));
    CHECK_EQ(pool_.published(number), pages.published(page));
  }
  CHECK_EQ(taken, pool_.used());
  CHECK_EQ(static_cast<std::int32_t>(order_.size()), pool_.idle());
}

}  // namespace millrace::kv
