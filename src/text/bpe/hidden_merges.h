#pragma once

#include <unordered_map>
#include <vector>

#include "text/bpe/merge_table.h"
#include "text/string_index.h"

namespace millrace::text {

// Tokens that merges produce although encoding must not: special tokens that a trainer found in its text, or that
// became special later. "hey" may be merged from "he" and stays; "he" alone is replaced by other tokens. Immutable and
// thread-safe.
class HiddenMerges {
 public:
  HiddenMerges() = default;
  // Tokens with an empty form are hidden. Linear in the merges.
  HiddenMerges(const MergeTable& merges, const StringTable& forms);

  bool empty() const noexcept { return spellings_.empty(); }
  // Replaces each hidden token by others. Linear in the symbols.
  void spell(std::vector<TokenId>& symbols) const;

 private:
  std::unordered_map<TokenId, std::vector<TokenId>> spellings_;
};

}  // namespace millrace::text
