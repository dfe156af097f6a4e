#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
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

// Everything a tokenizer is made of, as the loaders fill it in.
struct TokenizerParts {
  std::string kind;
  StringTable texts;  // spelling by id; empty = no such id
  StringIndex by_text;
  std::vector<bool> in_model;     // by id: of the model's own vocabulary, not only an added token; empty = all are
  std::vector<TokenId> repeated;  // tokens that no text becomes, because a later one has the same text
  std::vector<AddedToken> added;
  // Added tokens that share their id with a hole of the vocabulary or a token behind one: `texts` has the other.
  std::map<std::string, TokenId, std::less<>> in_holes;
  NormalizerList normalizers;
  PreTokenizer pre_tokenizer;
  bool spells_bytes = false;
  std::unique_ptr<const WordModel> model;
  DecoderList decoders;
  std::vector<TokenId> prefix, suffix;  // what add_special puts around the text
  // The post-processor's trimming of spans: white space around a token's text is not part of it.
  bool trims_spans = false, trim_keeps_first_space = false;
  std::optional<TokenId> bos, eos;
  std::vector<TokenId> end_of_generation;

  void reserve_texts(std::size_t count, std::size_t bytes);
  void add_text(std::string_view text);  // of the next id
  // The token of that text, -1 = none; of several the one that an encoded text gets.
  TokenId find(std::string_view text) const noexcept;
  // <0x00> to <0xFF> of the model's own vocabulary, special or not: what byte fallback writes. -1 = none.
  std::vector<TokenId> fallback_bytes() const;
  // The token of that name; nothing without a name or such a token.
  std::optional<TokenId> find_named(const std::optional<std::string>& name) const;
  void add_step(std::unique_ptr<const PreTokenizerStep> step);
  // From here on words are spelled in the byte alphabet: by a further step, or by the model reading bytes instead.
  void spell_bytes();
  void spell_words();  // the former, now
  void add_decoder(std::unique_ptr<const Decoder> decoder) { decoders.push_back(std::move(decoder)); }
  bool decodes_to_one_text() const;
};

// What the tokens look like inside text, for a WordModel: tokens whose `hidden` is true have no form, so that no text
// can become one. `byte_level`: spelled in the byte alphabet, and wanted as bytes.
StringTable make_forms(const StringTable& texts, const std::vector<bool>& hidden, bool byte_level);
// What the model spells in front of a symbol inside a word, and behind a word's last.
struct Affixes {
  std::string_view prefix = "", suffix = "";
};
// Whether `text` is one character, with or without the affixes: one byte where it is spelled in the byte alphabet. Such
// a token is never hidden, or text would be lost that has no other token.
bool is_symbol(std::string_view text, Affixes affixes = {});
// The special added tokens longer than a symbol, those that the model's vocabulary does not have, and repeated ones.
std::vector<bool> hidden_tokens(const TokenizerParts& parts, Affixes affixes = {});

// The error, and what its reader can do about it: `damaged` for a bad file, `unsupported` for what this build does not
// know. Sentences without their stop.
Error with_advice(Error error, std::string_view damaged, std::string_view unsupported);

// "<|im_end|>" and its like among the special tokens, and `eos`.
std::vector<TokenId> find_end_of_generation(const TokenizerParts& parts);

// Limits on vocabularies from files.
inline constexpr std::size_t kMaxTokens = std::size_t{1} << 22;
inline constexpr std::size_t kMaxVocabularyBytes = std::size_t{128} << 20;
inline constexpr std::size_t kMaxAddedTokenBytes = 1024;

inline constexpr std::string_view kSpaceSymbol = "\xe2\x96\x81";  // U+2581, SentencePiece's space

}  // namespace millrace::text
