#pragma once

#include <optional>
#include <string>
#include <vector>

#include "text/added_tokens.h"
#include "text/bpe_model.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/string_index.h"
#include "text/tokenizer.h"

namespace millrace::text {

// How tokens become text again.
struct DecoderSpec {
  bool byte_level = false;     // spellings in GPT-2's byte alphabet
  bool byte_fallback = false;  // <0xXX> are bytes
  bool fused = false;          // tokens are one text from here on
  bool strip_leading_space = false;
  struct Replacement {
    std::string pattern, content;
  };
  std::vector<Replacement> replacements;  // within each token, in order
};

// Everything a tokenizer is made of, as the loaders fill it in.
struct TokenizerParts {
  std::string kind;
  StringTable texts;  // spelling by id; empty = no such id
  StringIndex by_text;
  std::vector<AddedToken> added;
  NormalizerList normalizers;
  PreTokenizer pre_tokenizer;
  BpeOptions bpe;
  StringTable forms;  // see BpeModel
  MergeTable merges;
  DecoderSpec decoder;
  std::vector<TokenId> prefix, suffix;  // what add_special puts around the text
  std::optional<TokenId> bos, eos;
  std::vector<TokenId> end_of_generation;
};

// The table of forms that BpeModel wants; control tokens, whose `hidden` is true, have none: no text can merge into
// them.
StringTable make_forms(const StringTable& texts, const std::vector<bool>& hidden, bool byte_level);

std::shared_ptr<const Tokenizer> make_bpe_tokenizer(TokenizerParts parts);

// The byte that "<0xXX>" stands for, or -1.
int byte_of_fallback_token(std::string_view text) noexcept;

// "<|im_end|>" and its like among the special tokens, and `eos`.
std::vector<TokenId> find_end_of_generation(const TokenizerParts& parts);

// Limits on vocabularies from files.
inline constexpr std::size_t kMaxTokens = std::size_t{1} << 22;
inline constexpr std::size_t kMaxVocabularyBytes = std::size_t{128} << 20;
inline constexpr std::size_t kMaxAddedTokenBytes = 1024;

}  // namespace millrace::text
