#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "text/bpe/merge_table.h"
#include "text/pre_tokenizer.h"
#include "text/token.h"

namespace millrace::text {

// Since positions are 32 bits wide; longer words are cut.
inline constexpr std::size_t kMaxWordBytes = std::size_t{1} << 30;

// Buffers of one encode call, reused for each word. Each model uses those it needs.
struct ModelScratch {
  std::vector<TokenId> symbols;
  std::vector<MergeTable::Merge> pairs;  // the merge of symbols i and i + 1
  std::vector<std::int32_t> next, previous;
  std::vector<std::uint64_t> heap;
  struct Arrival {  // the best way to a position of the word, for Unigram
    double score;
    std::int32_t from;
    TokenId token;
  };
  std::vector<Arrival> arrivals;
  std::vector<std::int64_t> costs;  // of the best way from a position of the word to its end, for BackwardUnigram
};

// Converts a word to tokens. Immutable and thread-safe; at most O(n log n) in the word, without recursion.
class WordModel {
 public:
  virtual ~WordModel() = default;
  // Appends the ids of `word`, which is not empty, to `out`, and the place of each token in it to `spans` if that is
  // not null. Tokens of one character's bytes may share its span.
  virtual void encode(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& out,
                      std::vector<Word>* spans) const = 0;
};

}  // namespace millrace::text
