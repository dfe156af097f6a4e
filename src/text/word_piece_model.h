#pragma once

#include <string>
#include <string_view>

#include "text/byte_trie.h"
#include "text/word_model.h"

namespace millrace::text {

struct WordPieceOptions {
  TokenId unk = -1;                       // -1: a word that cannot be spelled vanishes
  std::string continuing_prefix = "##";   // spelled in front of every token but a word's first
  std::size_t max_word_characters = 100;  // a longer word is unknown
};

// The longest token that begins the word, then the longest that begins the rest, and so on (Wu et al.,
// arXiv:1609.08144). A word that cannot be spelled to its end is unknown as a whole.
class WordPieceModel final : public WordModel {
 public:
  // forms[id]: the token's spelling, prefix included; empty = never produced by encoding.
  WordPieceModel(WordPieceOptions options, const StringTable& forms);

  void encode(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& out,
              std::vector<Word>* spans) const override;

 private:
  bool spell(std::string_view word, std::vector<TokenId>& out, std::vector<Word>* spans) const;

  WordPieceOptions options_;
  ByteTrie trie_;
  ByteTrie::Node continuing_;  // where the prefix leads
};

}  // namespace millrace::text
