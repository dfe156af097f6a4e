#include "grammar/grammar.h"

#include <utility>

namespace millrace::grammar {

using Kind = Expression::Kind;

ExpressionId Grammar::add(Expression expression) {
  expressions_.push_back(std::move(expression));
  return static_cast<ExpressionId>(expressions_.size()) - 1;
}

ExpressionId Grammar::bytes(std::string_view literal) {
  Expression made;
  made.text = literal;
  return add(std::move(made));
}

ExpressionId Grammar::character(unicode::CodePointSet set) {
  Expression made;
  made.kind = Kind::kCharacter;
  made.set = std::move(set);
  return add(std::move(made));
}

ExpressionId Grammar::sequence(std::vector<ExpressionId> parts) {
  Expression made;
  made.kind = Kind::kSequence;
  made.parts = std::move(parts);
  return add(std::move(made));
}

ExpressionId Grammar::choice(std::vector<ExpressionId> parts) {
  Expression made;
  made.kind = Kind::kChoice;
  made.parts = std::move(parts);
  return add(std::move(made));
}

ExpressionId Grammar::repeat(ExpressionId part, std::int64_t least, std::int64_t most) {
  Expression made;
  made.kind = Kind::kRepeat;
  made.parts = {part};
  made.least = least;
  made.most = most;
  return add(std::move(made));
}

ExpressionId Grammar::automaton(CharAutomaton automaton, Spelling spelling) {
  Expression made;
  made.kind = Kind::kAutomaton;
  made.automaton = std::move(automaton);
  made.spelling = spelling;
  return add(std::move(made));
}

ExpressionId Grammar::special(std::string_view text) {
  Expression made;
  made.kind = Kind::kSpecial;
  made.text = text;
  return add(std::move(made));
}

RuleId Grammar::declare(std::string name) {
  rules_.push_back({std::move(name), -1});
  return static_cast<RuleId>(rules_.size()) - 1;
}

void Grammar::define(RuleId rule, ExpressionId expression) {
  rules_[static_cast<std::size_t>(rule)].expression = expression;
}

ExpressionId Grammar::rule(RuleId rule) {
  Expression made;
  made.kind = Kind::kRule;
  made.rule = rule;
  return add(std::move(made));
}

ExpressionId Grammar::named(std::string name, ExpressionId expression) {
  const RuleId made = declare(std::move(name));
  define(made, expression);
  return rule(made);
}

}  // namespace millrace::grammar
