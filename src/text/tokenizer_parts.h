#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/added_tokens.h"
#include "text/decoder.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/string_index.h"
#include "text/word_model.h"

namespace millrace::text {

// The parts of a tokenizer, as loaders fill them in.
struct TokenizerParts {
  std::string kind;
  StringTable texts;  // text by id; empty = no such id
  StringIndex by_text;
  std::vector<bool> in_model;     // by id: in the model's own vocabulary, not only an added token; empty = all are
  std::vector<TokenId> repeated;  // tokens that encoding never produces, because a later one has the same text
  std::vector<AddedToken> added;
  // Added tokens that share an id with another token (`texts` has the other one's text), in unused ids of the
  // vocabulary or after its end.
  std::map<std::string, TokenId, std::less<>> in_holes;
  NormalizerList normalizers;
  PreTokenizer pre_tokenizer;
  bool spells_bytes = false;
  std::unique_ptr<const WordModel> model;
  DecoderList decoders;
  std::vector<TokenId> prefix, suffix;  // tokens that add_special puts around the text
  // Whether the post-processor trims spans: white space around a token's text is then not part of its span.
  bool trims_spans = false, trim_keeps_first_space = false;
  std::optional<TokenId> bos, eos;
  MiddleTokens middle_tokens;
  std::vector<TokenId> end_of_generation;

  void reserve_texts(std::size_t count, std::size_t bytes);
  void add_text(std::string_view text);  // for the next id
  // The token of that text, or -1. If several have it, the one that encoding produces.
  TokenId find(std::string_view text) const noexcept;
  // The tokens <0x00> to <0xFF> of the model's own vocabulary, special or not, for byte fallback. -1 = none.
  std::vector<TokenId> fallback_bytes() const;
  // The token of that name; nothing if there is no name or no such token.
  std::optional<TokenId> find_named(const std::optional<std::string>& name) const;
  void add_step(std::unique_ptr<const PreTokenizerStep> step);
  // From here on words are in the byte alphabet. A further step applies it, or the model reads bytes instead.
  void spell_bytes();
  void spell_words();  // applies the byte alphabet now, by a step
  void add_decoder(std::unique_ptr<const Decoder> decoder) { decoders.push_back(std::move(decoder)); }
  bool decodes_to_one_text() const;
};

// The tokens' texts within text, for a WordModel. Tokens with `hidden` true get an empty form, so that encoding never
// produces them. `byte_level`: texts are in the byte alphabet and become bytes.
StringTable make_forms(const StringTable& texts, const std::vector<bool>& hidden, bool byte_level);
// The strings that the model puts before a symbol within a word, and after a word's last symbol.
struct Affixes {
  std::string_view prefix = "", suffix = "";
};
// Whether `text` is one character (in the byte alphabet, one byte), with or without affixes. Such a token is never
// hidden, since some text may have no other token.
bool is_symbol(std::string_view text, Affixes affixes = {});
// By id, whether it is hidden: special added tokens longer than a symbol, tokens outside the model's vocabulary, and
// repeated ones.
std::vector<bool> hidden_tokens(const TokenizerParts& parts, Affixes affixes = {});

// The error with advice for its reader: `damaged` for a bad file, `unsupported` for what this build does not support.
// Both are sentences without the final stop.
Error with_advice(Error error, std::string_view damaged, std::string_view unsupported);

// The special tokens that end an answer, such as "<|im_end|>", and `eos`.
std::vector<TokenId> find_end_of_generation(const TokenizerParts& parts);
// Further tokens that end an answer; left out are ids that the vocabulary has not, and what only
// ends one of several messages of an answer.
void add_end_tokens(std::span<const TokenId> ids, TokenizerParts& parts);

// Limits of vocabularies from files.
inline constexpr std::size_t kMaxTokens = std::size_t{1} << 22;
inline constexpr std::size_t kMaxVocabularyBytes = std::size_t{128} << 20;
inline constexpr std::size_t kMaxAddedTokenBytes = 1024;

inline constexpr std::string_view kSpaceSymbol = "\xe2\x96\x81";  // U+2581, which SentencePiece uses for spaces

}  // namespace millrace::text
