#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"
#include "text/tokenizer_parts.h"

namespace millrace::text {

// How a vocabulary spells a text whose middle is missing: `front`, the prefix, `between`, the suffix, `back`; then the
// model writes the middle.
struct MiddleSpelling {
  std::vector<TokenId> front, between, back;
  bool suffix_first = false;  // prefix and suffix change places
  std::vector<TokenId> ends;  // tokens that end the middle, besides those that end any answer
};

// By the tokens that the file names, else by their texts; nothing if the vocabulary has no such tokens.
std::optional<MiddleSpelling> find_middle_spelling(const TokenizerParts& parts);

// The prompt for a middle, without BOS.
std::vector<TokenId> middle_prompt(const MiddleSpelling& spelling, std::span<const TokenId> prefix,
                                   std::span<const TokenId> suffix);

// The tokens of a text that follows another one: without the space that SentencePiece puts in front of a text. Special
// tokens in it are text.
std::vector<TokenId> encode_continuation(const Tokenizer& tokenizer, std::string_view text);

}  // namespace millrace::text
