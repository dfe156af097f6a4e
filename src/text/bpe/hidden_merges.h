#pragma once

#include <unordered_map>
#include <vector>

#include "text/bpe/merge_table.h"
#include "text/string_index.h"

namespace millrace::text {

// The tokens that merges lead to though no text may become them: special ones that a trainer found in its text, or that
// got a role later. "hey" may be merged from "he", and stays whole; "he" alone is spelled with the other tokens.
// Immutable and thread-safe.
class HiddenMerges {
 public:
  HiddenMerges() = default;
  // A token is hidden if its form is empty. Linear in the merges.
  HiddenMerges(const MergeTable& merges, const StringTable& forms);

  bool empty() const noexcept { return spellings_.empty(); }
  // Puts the other tokens in the place of each hidden one. Linear in the symbols.
  void spell(std::vector<TokenId>& symbols) const;

 private:
  std::unordered_map<TokenId, std::vector<TokenId>> spellings_;
};

}  // namespace millrace::text
