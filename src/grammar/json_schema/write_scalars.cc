// Numbers and strings.

#include <algorithm>

#include "grammar/json_schema/grammar_writer.h"
#include "grammar/json_schema/number_automaton.h"

namespace millrace::grammar::json_schema {

Result<ExpressionId> GrammarWriter::number(const NumberFacts& facts, Types types) {
  if (facts == NumberFacts{} && types == kInteger) return text_.integer();
  if (facts == NumberFacts{} && types == kNumber) return text_.number();
  const std::pair key(facts, types);
  const auto found = std::find_if(numbers_.begin(), numbers_.end(), [&](const auto& one) { return one.first == key; });
  if (found != numbers_.end()) return found->second;
  auto automata = number_automata(facts, types, meter_);
  if (!automata) return automata.error();
  std::vector<ExpressionId> parts;
  for (CharAutomaton& automaton : *automata) parts.push_back(grammar_.automaton(std::move(automaton)));
  numbers_.emplace_back(key, grammar_.named("json_number_within", grammar_.choice(std::move(parts))));
  return numbers_.back().second;
}

ExpressionId GrammarWriter::quoted(CharAutomaton inside) {
  const ExpressionId quote = grammar_.bytes("\"");
  return grammar_.sequence({quote, grammar_.automaton(std::move(inside), Spelling::kJsonString), quote});
}

Result<ExpressionId> GrammarWriter::string(const StringFacts& facts) {
  if (facts == StringFacts{}) return text_.string();
  const auto found =
      std::find_if(strings_.begin(), strings_.end(), [&](const auto& one) { return one.first == facts; });
  if (found != strings_.end()) return found->second;
  if (facts.patterns.empty() && facts.excluded.empty()) {  // counting is cheaper than an automaton's states
    if (facts.most != kUnlimited && facts.least > facts.most) return grammar_.choice({});
    const ExpressionId one = grammar_.automaton(CharAutomaton::length(1, 1), Spelling::kJsonString);
    const ExpressionId quote = grammar_.bytes("\"");
    const ExpressionId made = grammar_.sequence({quote, grammar_.repeat(one, facts.least, facts.most), quote});
    strings_.emplace_back(facts, grammar_.named("json_string_of_length", made));
    return strings_.back().second;
  }
  auto inside = reader_.strings(facts);
  if (!inside) return inside.error();
  strings_.emplace_back(facts, grammar_.named("json_string_like", quoted(*std::move(inside))));
  return strings_.back().second;
}

}  // namespace millrace::grammar::json_schema
