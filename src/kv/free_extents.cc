#include "kv/free_extents.h"

#include <bit>

#include "base/check.h"

namespace millrace::kv {
namespace {

std::size_t at(BlockId page) { return static_cast<std::size_t>(page); }
std::size_t list_of(std::int32_t length) { return at(std::bit_width(static_cast<std::uint32_t>(length)) - 1); }

}  // namespace

FreeExtents::FreeExtents(std::int32_t total) : length_(at(total), 0), next_(at(total), kNoBlock), previous_(next_) {
  lists_.fill(kNoBlock);
  pages_ = total;
  if (total > 0) link(0, total);
}

std::int32_t FreeExtents::extent_at(BlockId first) const noexcept {
  if (first < 0 || at(first) >= length_.size()) return 0;
  return length_[at(first)];
}

BlockId FreeExtents::longest() const noexcept {
  return filled_ == 0 ? kNoBlock : lists_[static_cast<std::size_t>(std::bit_width(filled_) - 1)];
}

BlockId FreeExtents::fitting(std::int32_t n) const noexcept {
  constexpr int kLooks = 16;  // the list that n falls into holds shorter runs too
  const std::size_t own = list_of(n);
  BlockId run = lists_[own];
  for (int i = 0; i < kLooks && run != kNoBlock; ++i, run = next_[at(run)]) {
    if (length_[at(run)] >= n) return run;
  }
  const std::uint32_t longer = own == 31 ? 0 : filled_ & (~std::uint32_t{0} << (own + 1));
  return longer == 0 ? kNoBlock : lists_[static_cast<std::size_t>(std::countr_zero(longer))];
}

void FreeExtents::take(BlockId first, std::int32_t skip, std::int32_t n) {
  const std::int32_t length = length_[at(first)];
  CHECK_LE(skip + n, length);
  unlink(first);
  const std::int32_t behind = length - skip - n;
  for (std::int32_t i = 0; i < n; ++i) length_[at(first + skip + i)] = 0;
  if (skip > 0) link(first, skip);
  if (behind > 0) link(first + skip + n, behind);
  pages_ -= n;
}

void FreeExtents::give(BlockId page) {
  BlockId first = page;
  std::int32_t length = 1;
  if (const std::int32_t behind = extent_at(page + 1); behind > 0) {
    unlink(page + 1);
    length += behind;
  }
  if (page > 0 && length_[at(page - 1)] > 0) {
    first -= length_[at(page - 1)];
    length += length_[at(page - 1)];
    unlink(first);
  }
  link(first, length);
  ++pages_;
}

void FreeExtents::link(BlockId first, std::int32_t length) {
  length_[at(first)] = length_[at(first + length - 1)] = length;
  BlockId& head = lists_[list_of(length)];
  previous_[at(first)] = kNoBlock;
  next_[at(first)] = head;
  if (head != kNoBlock) previous_[at(head)] = first;
  head = first;
  filled_ |= std::uint32_t{1} << list_of(length);
}

void FreeExtents::unlink(BlockId first) {
  const BlockId before = previous_[at(first)], behind = next_[at(first)];
  if (behind != kNoBlock) previous_[at(behind)] = before;
  if (before != kNoBlock) {
    next_[at(before)] = behind;
    return;
  }
  const std::size_t list = list_of(length_[at(first)]);
  lists_[list] = behind;
  if (behind == kNoBlock) filled_ &= ~(std::uint32_t{1} << list);
}

void FreeExtents::check_integrity() const {
  std::vector<bool> free(length_.size(), false);
  std::int32_t pages = 0;
  for (std::size_t list = 0; list < lists_.size(); ++list) {
    CHECK_EQ(lists_[list] != kNoBlock, ((filled_ >> list) & 1) != 0);
    for (BlockId run = lists_[list]; run != kNoBlock; run = next_[at(run)]) {
      const std::int32_t length = length_[at(run)];
      CHECK_EQ(list_of(length), list);
      CHECK_EQ(length_[at(run + length - 1)], length);
      for (std::int32_t i = 0; i < length; ++i) {
        CHECK(!free[at(run + i)]);  // a cycle, or two runs that overlap
        free[at(run + i)] = true;
      }
      CHECK(run == 0 || length_[at(run - 1)] == 0);  // as long as can be
      pages += length;
    }
  }
  CHECK_EQ(pages, pages_);
  for (std::size_t i = 0; i < free.size(); ++i) {
    if (!free[i]) CHECK_EQ(length_[i], 0);
  }
}

}  // namespace millrace::kv
