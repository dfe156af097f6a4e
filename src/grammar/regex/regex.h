#pragma once

#include <cstdint>
#include <string_view>

#include "grammar/char_automaton.h"
#include "grammar/grammar.h"
#include "grammar/regex/regex_syntax.h"

namespace millrace::grammar {

// What a pattern must fit: the whole text, or any part of it, as the "pattern" of JSON Schema. ^ and $ stand for the
// ends of the text wherever they are.
enum class RegexMatch : std::uint8_t { kWhole, kSearch };

// Errors are parse_regex()'s and the meter's. Determinised, so some patterns are too much (a.{20} in a search).
Result<CharAutomaton> regex_automaton(std::string_view pattern, RegexMatch match, WorkMeter& meter,
                                      RegexFlags flags = {});
// The same as an expression, linear in the pattern: counts stay counts. Only where ^ or $ stand elsewhere than at an
// end of the pattern or of one of its choices is it an automaton.
Result<ExpressionId> add_regex(Grammar& to, std::string_view pattern, RegexMatch match, WorkMeter& meter,
                               RegexFlags flags = {});

}  // namespace millrace::grammar
