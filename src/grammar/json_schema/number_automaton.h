#pragma once

#include <vector>

#include "base/result.h"
#include "grammar/char_automaton.h"
#include "grammar/json_schema/facts.h"
#include "grammar/work_limits.h"

namespace millrace::grammar::json_schema {

// The numbers of these types that fit, spelled without exponents; integers without a fraction. Decimals are compared,
// exactly; fractions have no more digits than a double distinguishes, so that who reads doubles agrees. One automaton
// for each stretch between excluded numbers; empty ones are left out.
Result<std::vector<CharAutomaton>> number_automata(const NumberFacts& facts, Types types, WorkMeter& meter);
bool number_fits(const NumberFacts& facts, const Decimal& number);

}  // namespace millrace::grammar::json_schema
