#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "grammar/grammar.h"
#include "text/unicode.h"

namespace millrace::grammar {

// For tests: what a grammar means, straight from its definition. Where the text of an expression that begins at a place
// may end is a set; a rule's set grows from nothing until no rule's grows any more (the least fixed point), so
// recursion of any kind is right. Slow: for short texts.
class ReferenceMatcher {
 public:
  explicit ReferenceMatcher(const Grammar& grammar) : grammar_(grammar) {}

  bool matches(std::string_view text) {
    text_ = text;
    known_.clear();
    Ends ends;
    do {
      grown_ = false;
      ends = ends_of(grammar_.root(), 0);
    } while (grown_);
    return ends.contains(text.size());
  }

 private:
  using Ends = std::set<std::size_t>;
  using Kind = Expression::Kind;

  Ends ends_of(ExpressionId id, std::size_t from) {
    const Expression& expression = grammar_.at(id);
    switch (expression.kind) {
      case Kind::kBytes:
      case Kind::kSpecial: return literal(expression.text, from);
      case Kind::kCharacter: return character(expression.set, from);
      case Kind::kSequence: return sequence(expression, from);
      case Kind::kChoice: return choice(expression, from);
      case Kind::kRepeat: return repeat(expression, from);
      case Kind::kRule: return rule(expression.rule, from);
      case Kind::kAutomaton: return automaton(expression, from);
    }
    return {};
  }

  Ends literal(std::string_view literal, std::size_t from) const {
    if (text_.substr(from).starts_with(literal)) return {from + literal.size()};
    return {};
  }

  Ends character(const text::CodePointSet& set, std::size_t from) const {
    const auto [value, end] = utf8_at(from);
    if (end == from) return {};
    for (const auto& range : set.ranges()) {
      if (range.first <= value && value <= range.last) return {end};
    }
    return {};
  }

  Ends sequence(const Expression& expression, std::size_t from) {
    Ends ends = {from};
    for (const ExpressionId part : expression.parts) ends = after(part, ends);
    return ends;
  }

  Ends after(ExpressionId part, const Ends& starts) {
    Ends ends;
    for (const std::size_t start : starts) ends.merge(ends_of(part, start));
    return ends;
  }

  Ends choice(const Expression& expression, std::size_t from) {
    Ends ends;
    for (const ExpressionId part : expression.parts) ends.merge(ends_of(part, from));
    return ends;
  }

  Ends repeat(const Expression& expression, std::size_t from) {
    Ends now = {from}, ends;
    for (std::int64_t times = 0; expression.most == kUnlimited || times <= expression.most; ++times) {
      const std::size_t before = ends.size();
      if (times >= expression.least) ends.insert(now.begin(), now.end());
      if (now.empty() || (times > expression.least && ends.size() == before)) break;
      now = after(expression.parts[0], now);
    }
    return ends;
  }

  Ends rule(RuleId rule, std::size_t from) {
    const auto [at, is_new] = known_.try_emplace({rule, from});
    if (is_new) grown_ = true;
    const ExpressionId definition = grammar_.definition(rule);
    // Within one round a rule at a place is looked at again only by way of itself: then what is known stands.
    if (definition < 0 || !open_.insert({rule, from}).second) return at->second;
    const Ends found = ends_of(definition, from);
    open_.erase({rule, from});
    const std::size_t before = at->second.size();
    at->second.insert(found.begin(), found.end());
    grown_ = grown_ || at->second.size() > before;
    return at->second;
  }

  Ends automaton(const Expression& expression, std::size_t from) const {
    const auto& states = expression.automaton.states();
    Ends ends;
    std::int32_t state = 0;
    for (std::size_t at = from;;) {
      const auto& here = states[static_cast<std::size_t>(state)];
      if (here.accepts) ends.insert(at);
      const auto [value, end] = expression.spelling == Spelling::kUtf8 ? utf8_at(at) : json_at(at);
      if (end == at) return ends;
      state = -1;
      for (const auto& edge : here.edges) {
        if (edge.first <= value && value <= edge.last) state = edge.target;
      }
      if (state < 0) return ends;
      at = end;
    }
  }

  using Character = std::pair<char32_t, std::size_t>;  // and where it ends; where it began, if there is none

  Character utf8_at(std::size_t at) const {
    if (at >= text_.size()) return {0, at};
    const text::Utf8Unit unit = text::next_utf8_unit(text_.substr(at));
    if (unit.kind != text::Utf8Unit::Kind::kCharacter) return {0, at};
    return {text::code_point_at(text_, at).value, at + unit.size};
  }

  // RFC 8259, section 7.
  Character json_at(std::size_t at) const {
    const auto [value, end] = utf8_at(at);
    if (end == at || value < 0x20 || value == '"') return {0, at};
    if (value != '\\') return {value, end};
    constexpr std::string_view kShort = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    const std::size_t known = at + 1 < text_.size() ? kShort.find(text_[at + 1]) : std::string_view::npos;
    if (known != std::string_view::npos) return {static_cast<char32_t>(kMeant[known]), at + 2};
    const std::int64_t high = unit_at(at);
    if (high < 0 || (high >= 0xDC00 && high <= 0xDFFF)) return {0, at};
    if (high < 0xD800 || high > 0xDFFF) return {static_cast<char32_t>(high), at + 6};
    const std::int64_t low = unit_at(at + 6);
    if (low < 0xDC00 || low > 0xDFFF) return {0, at};
    return {static_cast<char32_t>(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)), at + 12};
  }

  std::int64_t unit_at(std::size_t at) const {  // of \uXXXX; -1: none
    if (at + 6 > text_.size() || text_[at] != '\\' || text_[at + 1] != 'u') return -1;
    std::int64_t value = 0;
    for (const char c : text_.substr(at + 2, 4)) {
      const std::size_t digit = std::string_view("0123456789abcdefABCDEF").find(c);
      if (digit == std::string_view::npos) return -1;
      value = value * 16 + static_cast<std::int64_t>(digit < 16 ? digit : digit - 6);
    }
    return value;
  }

  const Grammar& grammar_;
  std::string_view text_;
  std::map<std::pair<RuleId, std::size_t>, Ends> known_;
  std::set<std::pair<RuleId, std::size_t>> open_;
  bool grown_ = false;
};

}  // namespace millrace::grammar
