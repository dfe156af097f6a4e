#pragma once

#include <string>
#include <vector>

#include "grammar/char_automaton.h"

namespace millrace::grammar {

using Words = std::vector<std::u32string>;

Words words_of(const std::vector<std::string>& texts);  // without empty texts
Words joined(Words a, const Words& b);

// Any text without any of the words, of at most `max_characters` characters; -1: of any length.
Result<CharAutomaton> text_without(const Words& words, std::int64_t max_characters, WorkMeter& meter);
// Any text that ends with the first occurrence of one of the words.
Result<CharAutomaton> text_until(const Words& words, WorkMeter& meter);
// For each word, the texts that end with it, contain none of the words before that end, and none of `forbidden` at all.
Result<std::vector<CharAutomaton>> texts_up_to(const Words& words, const Words& forbidden, WorkMeter& meter);

}  // namespace millrace::grammar
