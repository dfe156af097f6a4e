#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/bpe/hidden_merges.h"
#include "text/byte_trie.h"
#include "text/string_index.h"
#include "text/word_model.h"

namespace millrace::text {

struct BpeOptions {
  bool byte_level = false;     // symbols start as bytes; if false, as characters
  bool fuse_unk = false;       // adjacent unknown characters become one unknown token
  bool ignore_merges = false;  // a word that is a token stays whole, whatever the merges
  TokenId unk = -1;            // -1: unknown characters are dropped
  // 256 ids, -1 = none. A character without a token becomes the tokens of its bytes if all of them exist. Empty: it is
  // unknown.
  std::vector<TokenId> fallback_bytes;
  std::string continuing_prefix = "";  // precedes every symbol but a word's first
  std::string word_suffix = "";        // follows a word's last symbol
  std::vector<TokenId> indivisible;    // tokens that are one symbol from the start wherever they occur in the text
  // Allows cutting a word before every run of this string (U+2581 in UTF-8) if no token spans such a border: the two
  // sides cannot merge, so the ids are the same. OPTIMIZATION: SentencePiece text is a single word, possibly of
  // megabytes.
  std::string cut_before = "";
};

// Byte-pair encoding (arXiv:1508.07909) of single words: the pair of lowest rank merges first, of equal ones the
// leftmost.
class BpeModel final : public WordModel {
 public:
  // forms[id] is the token within text: raw bytes (byte-level) or characters. Empty = encoding never produces it,
  // except by byte fallback. Merges may pass through a token without a form; if it is one of a word's final symbols, it
  // is replaced by other tokens.
  BpeModel(BpeOptions options, StringTable forms, MergeTable merges);

  void encode(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& out,
              std::vector<Word>* spans) const override;

 private:
  TokenId find_form(std::string_view form) const noexcept { return index_.find(forms_, form); }
  bool can_cut_before(std::string_view space) const;
  void encode_word(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& out) const;
  void byte_symbols(std::string_view word, std::vector<TokenId>& symbols) const;
  void character_symbols(std::string_view word, std::vector<TokenId>& symbols) const;
  std::size_t symbol_size(std::string_view word, std::size_t at) const;
  TokenId character_token(std::string_view word, std::size_t at, std::size_t size) const;
  bool has_fallback_bytes(std::string_view character) const;
  void append_spans(std::string_view word, std::span<const TokenId> tokens, std::vector<Word>& spans) const;
  bool is_spelled_out(std::string_view text, TokenId token) const;
  std::size_t unknown_size(std::string_view word, std::size_t at) const;

  BpeOptions options_;
  StringTable forms_;
  StringIndex index_;
  MergeTable merges_;
  std::vector<TokenId> byte_tokens_;  // by byte: the byte itself (byte-level) or what it falls back to; -1 = none
  std::vector<bool> is_fallback_;     // by id: a <0xXX> token
  std::vector<TokenId> ascii_;        // by character below 0x80; -1 = none
  std::size_t longest_ = 0;           // bytes of the longest form
  bool affixes_ = false;
  std::string cut_;       // empty = no cutting
  ByteTrie indivisible_;  // its ids are places in options_.indivisible
  HiddenMerges hidden_merges_;

  // OPTIMIZATION: whether merging a token's own form gives that token back, found out at its first use. Most words of a
  // text are such tokens. Relaxed atomics: every thread would store the same value.
  enum class Whole : std::uint8_t { kUnknown, kYes, kNo };
  std::unique_ptr<std::atomic<Whole>[]> whole_;
};

}  // namespace millrace::text
