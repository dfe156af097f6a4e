#include "grammar/grammar_text/rule_table.h"

#include <fmt/format.h>

#include <utility>

namespace millrace::grammar {

RuleTable::Rule& RuleTable::rule(std::string_view name) {
  const auto found = rules_.find(name);
  if (found != rules_.end()) return found->second;
  return rules_.emplace(name, Rule{.id = grammar_.declare(std::string(name))}).first->second;
}

ExpressionId RuleTable::use(std::string_view name) {
  Rule& one = rule(name);
  if (one.used == 0) one.used = text_.place().line;
  return grammar_.rule(one.id);
}

void RuleTable::define(std::string_view name, int line, ExpressionId expression) {
  Rule& one = rule(name);
  if (one.defined != 0) {
    return text_.fail_as(ErrorCode::kInvalidArgument, line,
                         fmt::format("the rule \"{}\" is defined in line {} already", name, one.defined));
  }
  one.defined = line;
  grammar_.define(one.id, expression);
}

bool RuleTable::is_defined(std::string_view name) const {
  const auto found = rules_.find(name);
  return found != rules_.end() && found->second.defined != 0;
}

ExpressionId RuleTable::root(std::string_view name) {
  if (text_.failed()) return 0;
  if (!is_defined(name)) {
    text_.fail("there is no rule \"{}\", with which the text begins", name);
    return 0;
  }
  const std::pair<const std::string, Rule>* missing = nullptr;
  for (const auto& one : rules_) {
    if (one.second.defined == 0 && (missing == nullptr || one.second.used < missing->second.used)) missing = &one;
  }
  if (missing != nullptr) {
    text_.fail_as(ErrorCode::kInvalidArgument, missing->second.used,
                  fmt::format("the rule \"{}\" is not defined", missing->first));
  }
  return grammar_.rule(rule(name).id);
}

}  // namespace millrace::grammar
