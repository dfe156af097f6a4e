#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/token.h"

namespace millrace::text {

// Maps a pair (left, right) to the merged token and its rank; lower ranks merge first. Open addressing, 16 bytes per
// slot.
class MergeTable {
 public:
  static constexpr std::uint32_t kNoMerge = UINT32_MAX;
  struct Merge {
    std::uint32_t rank = kNoMerge;
    TokenId result = -1;
  };
  void reserve(std::size_t merges);
  void insert(TokenId left, TokenId right, Merge merge);  // replaces an earlier one of the same pair
  Merge find(TokenId left, TokenId right) const noexcept;
  // Calls visit(left, right, merge) for each, in no particular order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.left >= 0) visit(slot.left, slot.right, slot.merge);
    }
  }

 private:
  struct Slot {
    TokenId left = -1, right = -1;
    Merge merge;
  };
  std::size_t home(TokenId left, TokenId right) const noexcept;
  void grow();

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
  int shift_ = 64;
};

struct ModelScratch;
// Applies the merges to scratch.symbols in place: the pair of lowest rank first, of equal ones the leftmost.
void merge_symbols(const MergeTable& merges, ModelScratch& scratch);

}  // namespace millrace::text
