#pragma once

#include <string>
#include <string_view>

#include "text/byte_trie.h"
#include "text/word_model.h"

namespace millrace::text {

struct WordPieceOptions {
  TokenId unk = -1;                       // -1: a word that has no spelling is dropped
  std::string continuing_prefix = "##";   // precedes every token but a word's first
  std::size_t max_word_characters = 100;  // longer words are unknown
};

// Takes the longest token at the beginning of the word, then the longest at the beginning of the rest, and so on (Wu et
// al., arXiv:1609.08144). A word that has no complete spelling is unknown as a whole.
class WordPieceModel final : public WordModel {
 public:
  // forms[id] is the token's text, prefix included; empty = encoding never produces it.
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
