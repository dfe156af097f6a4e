#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "text/string_index.h"

namespace millrace::text {

// (left, right) -> the token they merge into and its rank; lower ranks merge first. Open addressing, 16 bytes a slot.
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

// Buffers of one encode call, reused from word to word.
struct MergeScratch {
  std::vector<TokenId> symbols;
  std::vector<MergeTable::Merge> pairs;  // of symbols i and i + 1
  std::vector<std::int32_t> next, previous;
  std::vector<std::uint64_t> heap;
};

struct BpeOptions {
  bool byte_level = false;     // symbols begin as bytes; otherwise as characters
  bool byte_fallback = false;  // a character without a token becomes its <0xXX> tokens
  bool fuse_unk = false;       // neighbouring unknown characters make one unknown token
  bool ignore_merges = false;  // a word that is a token stays whole, whatever the merges say
  TokenId unk = -1;            // -1: unknown characters vanish
};

// Byte-pair encoding (arXiv:1508.07909) of single words: the pair of lowest rank merges first, the leftmost among
// equals. Immutable and thread-safe; O(n log n) in the word, no recursion.
class BpeModel {
 public:
  // forms[id]: what the token looks like inside text: raw bytes (byte-level) or characters; empty = never produced by
  // encoding.
  BpeModel(BpeOptions options, StringTable forms, MergeTable merges);

  // The ids of `text`, one stretch that the pre-tokenizer left whole, go to the end of `out`.
  void encode(std::string_view text, MergeScratch& scratch, std::vector<TokenId>& out) const;
  TokenId find_form(std::string_view form) const noexcept { return index_.find(forms_, form); }

  // Allows cutting before every run of `space` (U+2581 spelled in UTF-8) when no token reaches over such a border.
  // Ranked results of the two sides cannot meet, so the ids stay the same. OPTIMIZATION: SentencePiece text comes as
  // one word of megabytes.
  void cut_before(std::string_view space);

 private:
  void encode_word(std::string_view word, MergeScratch& scratch, std::vector<TokenId>& out) const;
  void byte_symbols(std::string_view word, std::vector<TokenId>& symbols) const;
  void character_symbols(std::string_view word, std::vector<TokenId>& symbols) const;
  bool append_fallback_bytes(std::string_view character, std::vector<TokenId>& symbols) const;

  BpeOptions options_;
  StringTable forms_;
  StringIndex index_;
  MergeTable merges_;
  std::vector<TokenId> byte_tokens_;  // by byte: the byte itself (byte-level) or <0xXX>; -1 = none
  std::vector<TokenId> ascii_;        // by character below 0x80; -1 = none
  std::size_t longest_ = 0;           // bytes of the longest form
  std::string cut_;                   // empty = no cutting

  // OPTIMIZATION: whether merging a token's own form gives that token back, found out at its first use. Most words of a
  // text are such tokens. Relaxed atomics: every thread would store the same value.
  enum class Whole : std::uint8_t { kUnknown, kYes, kNo };
  std::unique_ptr<std::atomic<Whole>[]> whole_;
};

// Applies the merges to scratch.symbols in place.
void merge_symbols(const MergeTable& merges, MergeScratch& scratch);

}  // namespace millrace::text
