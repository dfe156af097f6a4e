#pragma once

#include <vector>

#include "base/result.h"
#include "grammar/char_automaton.h"
#include "grammar/json_schema/facts.h"
#include "grammar/work_limits.h"

namespace millrace::grammar::json_schema {

// Automata of the numbers of these types that satisfy the facts, written without exponents, and integers without a
// fraction. Decimals are compared exactly. Fractions have no more digits than a double distinguishes, so that readers
// of doubles agree. One automaton for each range between excluded numbers, without empty ones.
Result<std::vector<CharAutomaton>> number_automata(const NumberFacts& facts, Types types, WorkMeter& meter);
bool number_fits(const NumberFacts& facts, const Decimal& number);

}  // namespace millrace::grammar::json_schema
