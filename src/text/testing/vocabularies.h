#pragma once

#include <fmt/core.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "text/bpe/byte_alphabet.h"
#include "text/tokenizer.h"

namespace millrace::text {

// For tests and fuzzing: two small vocabularies.

// Byte-level BPE with the pre-tokenizer `pre`: all bytes (ids 0-255), a few merges (256 "he", 257 "ll", 258 "hell", 259
// "hello", 260 " hello"), <|s|> (control, 261), <|e|> (control, 262), <tool> (user defined, 263).
inline GgufVocabulary small_byte_level_vocabulary(std::string pre) {
  GgufVocabulary v;
  v.model = "gpt2";
  v.pre = std::move(pre);
  for (int byte = 0; byte < 256; ++byte) {
    const char raw = static_cast<char>(byte);
    v.tokens.push_back(spelling_of_bytes(std::string_view(&raw, 1)));
  }
  const std::string space = spelling_of_bytes(" ");
  for (const auto& [left, right] : std::initializer_list<std::pair<std::string, std::string>>{
           {"h", "e"}, {"l", "l"}, {"he", "ll"}, {"hell", "o"}, {space, "hello"}}) {
    v.merges.push_back(left + " " + right);
    v.tokens.push_back(left + right);
  }
  v.token_types.assign(v.tokens.size(), 1);
  for (const auto& [text, type] :
       std::initializer_list<std::pair<const char*, int>>{{"<|s|>", 3}, {"<|e|>", 3}, {"<tool>", 4}}) {
    v.tokens.emplace_back(text);
    v.token_types.push_back(type);
  }
  v.bos = 261;
  v.eos = 262;
  return v;
}

// SentencePiece: <unk> 0, <s> 1, </s> 2, the bytes 3-258, then pieces: "\u2581" 259, a 260, b 261, ab 262, "\u2581ab"
// 263, U+00E9 264, aa 265.
inline GgufVocabulary small_sentence_piece_vocabulary() {
  GgufVocabulary v;
  v.model = "llama";
  const auto add = [&](std::string text, float score, int type) {
    v.tokens.push_back(std::move(text));
    v.scores.push_back(score);
    v.token_types.push_back(type);
  };
  add("<unk>", 0, 2);
  add("<s>", 0, 3);
  add("</s>", 0, 3);
  for (int byte = 0; byte < 256; ++byte) add(fmt::format("<0x{:02X}>", byte), 0, 6);
  add("\xe2\x96\x81", -10, 1);
  add("a", -11, 1);
  add("b", -12, 1);
  add("ab", -1, 1);
  add("\xe2\x96\x81"
      "ab",
      -2, 1);
  add("\xc3\xa9", -13, 1);
  add("aa", -3, 1);
  v.bos = 1;
  v.eos = 2;
  v.unk = 0;
  return v;
}

}  // namespace millrace::text
