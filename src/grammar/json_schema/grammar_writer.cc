#include "grammar/json_schema/grammar_writer.h"

#include <algorithm>

namespace millrace::grammar::json_schema {
namespace {

template <typename T>
bool add_new(std::vector<T>& to, const T& one) {
  if (std::find(to.begin(), to.end(), one) != to.end()) return false;
  to.push_back(one);
  return true;
}

bool holds_values(const Alternatives& all) {
  return std::any_of(all.begin(), all.end(), [](const Facts& facts) {
    if (facts.values) return false;
    return ((facts.types & kArray) != 0 && facts.array != ArrayFacts{}) ||
           ((facts.types & kObject) != 0 && facts.object != ObjectFacts{});
  });
}

}  // namespace

Result<ExpressionId> GrammarWriter::write(const Goal& goal) {
  const auto some = reader_.possible(goal);
  if (!some) return some.error();
  if (!*some) return grammar_invalid("JSON schema: nothing fits it");
  auto root = value(goal);
  if (!root) return root;
  while (!waiting_.empty()) {
    const auto [rule, all] = waiting_.front();
    waiting_.pop_front();
    const auto body = value(*all);
    if (!body) return body;
    grammar_.define(rule, *body);
  }
  return root;
}

Result<ExpressionId> GrammarWriter::value(const Goal& goal) {
  Goal sorted = goal;
  std::sort(sorted.begin(), sorted.end());
  if (const auto found = written_.find(sorted); found != written_.end()) return found->second;
  if (auto fine = meter_.spend(); !fine) return fine.error();
  const auto all = reader_.alternatives(goal);
  if (!all) return all.error();
  Part made = -1;
  if (holds_values(**all)) {
    const RuleId rule = grammar_.declare("json_schema_value");
    waiting_.emplace_back(rule, *all);
    made = grammar_.rule(rule);
  } else {
    made = value(**all);
  }
  if (made) written_.emplace(std::move(sorted), *made);
  return made;
}

Result<ExpressionId> GrammarWriter::value(const Alternatives& all) {
  std::vector<ExpressionId> parts;
  std::vector<ArrayFacts> arrays;
  std::vector<ObjectFacts> objects;
  for (const Facts& facts : all) {
    if (facts == Facts{}) return text_.value();
    if (facts.values) {
      const auto these = values(facts);
      if (!these) return these;
      add_new(parts, *these);
      continue;
    }
    if (auto done = scalars(facts, parts); !done) return done.error();
    if ((facts.types & kArray) != 0) add_new(arrays, facts.array);
    if ((facts.types & kObject) != 0) add_new(objects, facts.object);
  }
  for (const ArrayFacts& facts : arrays) {
    const auto one = array(facts);
    if (!one) return one;
    add_new(parts, *one);
  }
  for (const ObjectFacts& facts : objects) {
    const auto one = object(facts);
    if (!one) return one;
    add_new(parts, *one);
  }
  return parts.size() == 1 ? parts[0] : grammar_.choice(std::move(parts));
}

// One choice of bytes, where they all are: a trie.
Result<ExpressionId> GrammarWriter::values(const Facts& facts) {
  std::vector<ExpressionId> parts;
  for (const Json* one : *facts.values) {
    if (auto fine = meter_.spend(); !fine) return fine.error();
    const auto fit = reader_.listed_fits(*one, facts);
    if (!fit) return fit.error();
    if (!*fit) continue;
    const ExpressionId exactly = text_.exactly(*one);
    const Expression& made = grammar_.at(exactly);
    if (made.kind == Expression::Kind::kChoice) {  // a number with two spellings
      const std::vector<ExpressionId> spellings = made.parts;
      parts.insert(parts.end(), spellings.begin(), spellings.end());
    } else {
      parts.push_back(exactly);
    }
  }
  return grammar_.choice(std::move(parts));
}

Result<void> GrammarWriter::scalars(const Facts& facts, std::vector<ExpressionId>& parts) {
  constexpr std::pair<Types, const char*> kNames[] = {{kNull, "null"}, {kTrue, "true"}, {kFalse, "false"}};
  for (const auto& [type, name] : kNames) {
    if ((facts.types & type) == 0) continue;
    const bool there = std::any_of(parts.begin(), parts.end(), [&, text = name](ExpressionId part) {
      const Expression& made = grammar_.at(part);
      return made.kind == Expression::Kind::kBytes && made.text == text;
    });
    if (!there) parts.push_back(grammar_.bytes(name));
  }
  if ((facts.types & kNumber) != 0) {
    const auto one = number(facts.number, facts.types & kNumber);
    if (!one) return one.error();
    add_new(parts, *one);
  }
  if ((facts.types & kString) != 0) {
    const auto one = string(facts.string);
    if (!one) return one.error();
    add_new(parts, *one);
  }
  return {};
}

}  // namespace millrace::grammar::json_schema
