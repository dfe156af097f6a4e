#pragma once

#include <cstdint>
#include <string_view>

#include "grammar/char_automaton.h"
#include "grammar/grammar.h"
#include "grammar/regex/regex_syntax.h"

namespace millrace::grammar {

// What a pattern must match: the whole text, or any part of it, as "pattern" of JSON Schema does. ^ and $ mean the ends
// of the text at any place.
enum class RegexMatch : std::uint8_t { kWhole, kSearch };

// The language of a pattern as an automaton. Errors are those of parse_regex() and of the meter; some patterns exceed
// its limits when made deterministic (a.{20} in a search).
Result<CharAutomaton> regex_automaton(std::string_view pattern, RegexMatch match, WorkMeter& meter,
                                      RegexFlags flags = {});
// The language of a pattern as an expression, linear in the pattern, with counted repetitions kept. Only if ^ or $
// stand elsewhere than at an end of the pattern, or of one of its alternatives, it is an automaton.
Result<ExpressionId> add_regex(Grammar& to, std::string_view pattern, RegexMatch match, WorkMeter& meter,
                               RegexFlags flags = {});

}  // namespace millrace::grammar
