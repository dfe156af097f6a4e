#pragma once

#include <initializer_list>
#include <string>

#include "grammar/matcher.h"
#include "text/testing/vocabularies.h"

namespace millrace::decode {

// For tests: a matcher for answers of exactly `times` of the given characters, which must be ASCII;
// grammar::kUnlimited: any number of them. Tokens 0 to 255 of its vocabulary are bytes (small_byte_level_vocabulary()).
inline grammar::Matcher byte_grammar(std::initializer_list<char32_t> bytes, std::int64_t times) {
  unicode::CodePointSet set;
  for (const char32_t byte : bytes) set.add(byte, byte);
  grammar::Grammar g;
  g.set_root(g.repeat(g.character(set), times == grammar::kUnlimited ? 0 : times, times));
  const auto tokenizer = text::load_gguf_tokenizer(text::small_byte_level_vocabulary("gpt-2")).or_throw();
  grammar::WorkMeter meter;
  return grammar::Matcher(grammar::compile(g, grammar::make_vocabulary(tokenizer), meter).or_throw());
}

}  // namespace millrace::decode
