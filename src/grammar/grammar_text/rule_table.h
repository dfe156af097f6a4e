#pragma once

#include <map>
#include <string>
#include <string_view>

#include "grammar/grammar.h"
#include "grammar/grammar_text/grammar_text.h"

namespace millrace::grammar {

// The rules of one source by name. Rules may be used before they are defined.
class RuleTable {
 public:
  RuleTable(Grammar& grammar, GrammarText& text) : grammar_(grammar), text_(text) {}

  ExpressionId use(std::string_view name);
  // Fails if the rule is defined already. `line` is that of its name.
  void define(std::string_view name, int line, ExpressionId expression);
  bool is_defined(std::string_view name) const;
  // The expression for the root rule. Fails if it, or any rule in use, is not defined.
  ExpressionId root(std::string_view name);

 private:
  struct Rule {
    RuleId id;
    int used = 0, defined = 0;  // lines; 0: nowhere
  };
  Rule& rule(std::string_view name);

  Grammar& grammar_;
  GrammarText& text_;
  std::map<std::string, Rule, std::less<>> rules_;
};

}  // namespace millrace::grammar
