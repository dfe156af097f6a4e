#pragma once

#include <string>
#include <vector>

#include "grammar/grammar_text/grammar_text.h"
#include "grammar/grammar_text/rule_table.h"
#include "grammar/language.h"

namespace millrace::grammar {

// Reads Lark grammars as llguidance documents them. Rules are in lower case and TERMINALS in upper case; what %ignore
// names may stand around every terminal of a rule. Terminals do not match greedily: if a text can be read in several
// ways, all of them fit. Features that would change the language in ways that a grammar cannot express are an error
// naming them.
class LarkReader {
 public:
  LarkReader(Grammar& to, const GrammarSource& source, WorkMeter& meter);

  Result<ExpressionId> run();

 private:
  enum class Inside : std::uint8_t { kRule, kTerminal };

  void definition();
  bool definition_ahead();
  void definition_options();
  void directive();
  void import_names();
  void import_one(std::string_view name, std::string_view as);
  void end_of_line();

  ExpressionId body(Inside inside);  // choices, the first of which may stand on the next line
  ExpressionId choices(Inside inside);
  ExpressionId sequence(Inside inside);
  ExpressionId atom(Inside inside);
  ExpressionId group(Inside inside);
  ExpressionId string(Inside inside);
  ExpressionId regex(Inside inside);
  ExpressionId special(Inside inside);
  ExpressionId json(Inside inside);
  ExpressionId reference(Inside inside);
  ExpressionId repeated(ExpressionId part);
  ExpressionId lexeme(ExpressionId terminal, Inside inside);  // and what may be ignored after it
  ExpressionId reject(std::string_view what);
  void over_lines_unless_definition();
  std::string_view json_text();

  Grammar& to_;
  const GrammarSource& source_;
  WorkMeter& meter_;
  GrammarText text_;
  RuleTable rules_;
  int groups_ = 0;             // open ones: line ends inside do not end the rule
  ExpressionId skipped_ = -1;  // any number of what %ignore names; -1 where nothing is
  std::vector<ExpressionId> skippable_;
};

}  // namespace millrace::grammar
