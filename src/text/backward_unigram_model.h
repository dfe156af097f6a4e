#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/byte_trie.h"
#include "text/word_model.h"

namespace millrace::text {

// Segments a word so that the sum of the tokens' costs is lowest, as PLaMo 2 and 3 do: a lattice of tokens with scores
// (Kudo, arXiv:1804.10959) in integers, from the end to the beginning. Of equal sums, the one whose first token is
// longest, then the second, and so on. Characters that no token has become their bytes. Linear in the word times its
// longest token.
class BackwardUnigramModel final : public WordModel {
 public:
  static constexpr std::int64_t kCostOfBytes = 10'000'000;  // of one character

  // forms[id] is the token within text, in whole characters; empty = encoding never produces it. costs has one entry
  // per id, of magnitudes below 2^31; byte_tokens has 256.
  BackwardUnigramModel(const StringTable& forms, std::vector<std::int64_t> costs, std::vector<TokenId> byte_tokens);

  void encode(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& out,
              std::vector<Word>* spans) const override;

 private:
  void find_ways(std::string_view part, ModelScratch& scratch) const;

  ByteTrie trie_;
  std::vector<std::int64_t> costs_;
  std::vector<TokenId> byte_tokens_;
};

}  // namespace millrace::text
