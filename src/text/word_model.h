#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "text/bpe/merge_table.h"
#include "text/pre_tokenizer.h"
#include "text/token.h"

namespace millrace::text {

inline constexpr std::size_t kMaxWordBytes = std::size_t{1} << 30;  // positions are 32 bits wide; a longer word is cut

// Buffers of one encode call, reused from word to word; each model uses what it needs.
struct ModelScratch {
  std::vector<TokenId> symbols;
  std::vector<MergeTable::Merge> pairs;  // of symbols i and i + 1
  std::vector<std::int32_t> next, previous;
  std::vector<std::uint64_t> heap;
  struct Arrival {  // the best way to a position of the word, for Unigram
    double score;
    std::int32_t from;
    TokenId token;
  };
  std::vector<Arrival> arrivals;
};

// From a word to tokens. Immutable and thread-safe; O(n log n) in the word at most, no recursion.
class WordModel {
 public:
  virtual ~WordModel() = default;
  // The ids of `word` (not empty) go to the end of `out`; where each token lies in it to the end of `spans`, if that is
  // not null. Tokens of one character's bytes may share its span.
  virtual void encode(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& out,
                      std::vector<Word>* spans) const = 0;
};

}  // namespace millrace::text
