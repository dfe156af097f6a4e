#pragma once

#include <string_view>
#include <vector>

#include "text/byte_trie.h"
#include "text/word_model.h"

namespace millrace::text {

struct UnigramOptions {
  // Hugging Face adds scores as doubles, and looks up a run of unknown characters as one string; SentencePiece rounds
  // sums to floats.
  enum class Arithmetic { kTokenizers, kSentencePiece };
  Arithmetic arithmetic = Arithmetic::kTokenizers;
  TokenId unk = -1;            // -1: unknown characters are dropped
  double unk_score = 0;        // of each unknown character
  bool byte_fallback = false;  // unknown characters become their <0xXX> tokens, if all of these exist
};

// Segments a word so that the sum of the tokens' scores is highest (Kudo, arXiv:1804.10959), by dynamic programming
// over positions: linear in the word times its longest token. Of equal sums, the one found first, from left to right
// and the shortest token first.
class UnigramModel final : public WordModel {
 public:
  // forms[id] is the token within text; empty = encoding never produces it. scores has one entry per id; byte_tokens
  // has 256, -1 = none.
  UnigramModel(UnigramOptions options, const StringTable& forms, std::vector<double> scores,
               std::vector<TokenId> byte_tokens);

  void encode(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& out,
              std::vector<Word>* spans) const override;

 private:
  void find_arrivals(std::string_view word, ModelScratch& scratch) const;
  void trace_back(std::string_view word, ModelScratch& scratch) const;
  void append_unknown(std::string_view word, Word place, std::vector<TokenId>& out, std::vector<Word>* spans) const;
  bool append_bytes(std::string_view bytes, Word place, std::vector<TokenId>& out, std::vector<Word>* spans) const;

  UnigramOptions options_;
  ByteTrie trie_;
  std::vector<double> scores_;
  std::vector<TokenId> byte_tokens_;
};

}  // namespace millrace::text
