#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "grammar/language.h"
#include "grammar/matcher.h"
#include "grammar/vocabulary.h"
#include "text/testing/vocabularies.h"

namespace millrace::fuzz {

// Reads the source and, where that works, compiles it and goes on with tokens that the masks allow.
inline void follow_grammar(std::string language, std::string_view source) {
  using namespace millrace::grammar;
  static const std::shared_ptr<Vocabulary> vocabulary =
      make_vocabulary(text::load_gguf_tokenizer(text::small_byte_level_vocabulary("gpt2")).or_throw());
  WorkMeter meter({.states = 20'000, .milliseconds = 1000});
  const auto grammar = grammar::read_grammar({.language = std::move(language), .text = std::string(source)}, meter);
  if (!grammar) return CHECK(!grammar.error().message.empty());
  const auto compiled = compile(*grammar, vocabulary, meter);
  if (!compiled) return CHECK(!compiled.error().message.empty());
  Matcher matcher(*compiled);
  std::vector<std::uint64_t> mask(vocabulary->words());
  for (int step = 0; step < 8 && !matcher.failed(); ++step) {
    (void)matcher.forced(16);
    matcher.fill_mask(mask);
    std::int32_t token = -1;  // the last that fits
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(mask.size() * 64); ++i) {
      if (mask[static_cast<std::size_t>(i) / 64] >> (i % 64) & 1) token = i;
    }
    if (token < 0 || matcher.must_end()) break;
    CHECK(matcher.accept(token) || matcher.failed());
  }
}

}  // namespace millrace::fuzz
