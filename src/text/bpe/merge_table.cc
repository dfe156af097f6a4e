#include <bit>

#include "text/bpe/merge_table.h"

namespace millrace::text {

std::size_t MergeTable::home(TokenId left, TokenId right) const noexcept {
  const std::uint64_t key =
      static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
  return static_cast<std::size_t>(((key ^ key >> 29) * 0x9E3779B97F4A7C15u) >> shift_);
}

void MergeTable::reserve(std::size_t merges) {
  const std::size_t wanted = std::bit_ceil(merges * 2 + 16);
  if (used_ > 0 || wanted <= slots_.size()) return;
  slots_.assign(wanted, Slot{});
  shift_ = 64 - std::countr_zero(wanted);
}

void MergeTable::grow() {
  std::vector<Slot> old = std::move(slots_);
  slots_ = {};
  used_ = 0;
  reserve(old.size());
  for (const Slot& slot : old) {
    if (slot.left >= 0) insert(slot.left, slot.right, slot.merge);
  }
}

void MergeTable::insert(TokenId left, TokenId right, Merge merge) {
  if ((used_ + 1) * 2 > slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = home(left, right);
  while (slots_[at].left >= 0) {
    if (slots_[at].left == left && slots_[at].right == right) {
      slots_[at].merge = merge;
      return;
    }
    at = (at + 1) & mask;
  }
  slots_[at] = {left, right, merge};
  ++used_;
}

MergeTable::Merge MergeTable::find(TokenId left, TokenId right) const noexcept {
  if (slots_.empty()) return {};
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = home(left, right); slots_[at].left >= 0; at = (at + 1) & mask) {
    if (slots_[at].left == left && slots_[at].right == right) return slots_[at].merge;
  }
  return {};
}

}  // namespace millrace::text
