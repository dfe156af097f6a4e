#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "grammar/grammar.h"
#include "text/unicode.h"

namespace millrace::grammar {

// For tests: whether a text fits a grammar, straight from what its expressions mean, by growing the sets of ends that
// each rule has from each start until nothing is new. Slow. Specials are the characters of their text; of automata
// only Spelling::kUtf8 is known.
class ReferenceRecognizer {
 public:
  ReferenceRecognizer(const Grammar& grammar, std::string_view text) : grammar_(grammar), text_(text) {}

  bool fits() {
    Ends ends;
    do {
      grown_ = false;
      ends = ends_of(grammar_.root(), 0);
    } while (grown_);
    return ends.contains(text_.size());
  }

 private:
  using Ends = std::set<std::size_t>;
  using Kind = Expression::Kind;

  Ends ends_of(ExpressionId id, std::size_t from) {
    const Expression& here = grammar_.at(id);
    switch (here.kind) {
      case Kind::kBytes:
      case Kind::kSpecial: return text_.substr(from).starts_with(here.text) ? Ends{from + here.text.size()} : Ends{};
      case Kind::kCharacter: return after_character(here.set, from);
      case Kind::kSequence: {
        Ends ends = {from};
        for (const ExpressionId part : here.parts) ends = after_all(part, ends);
        return ends;
      }
      case Kind::kChoice: {
        Ends ends;
        for (const ExpressionId part : here.parts) ends.merge(ends_of(part, from));
        return ends;
      }
      case Kind::kRepeat: return after_repeat(here, from);
      case Kind::kRule: return after_rule(here.rule, from);
      case Kind::kAutomaton: return after_automaton(here.automaton, from);
    }
    return {};
  }

  Ends after_all(ExpressionId part, const Ends& starts) {
    Ends ends;
    for (const std::size_t start : starts) ends.merge(ends_of(part, start));
    return ends;
  }

  Ends after_character(const text::CodePointSet& set, std::size_t from) const {
    if (from == text_.size()) return {};
    const text::CodePoint next = text::code_point_at(text_, from);
    for (const auto& range : set.ranges()) {
      if (next.value >= range.first && next.value <= range.last) return {from + next.size};
    }
    return {};
  }

  Ends after_repeat(const Expression& repeat, std::size_t from) {
    Ends now = {from}, ends;
    std::set<Ends> seen;
    for (std::int64_t count = 0; repeat.most < 0 || count <= repeat.most; ++count) {
      if (count >= repeat.least) ends.insert(now.begin(), now.end());
      if (count >= repeat.least && !seen.insert(now).second) break;
      if (now.empty()) break;
      now = after_all(repeat.parts[0], now);
    }
    return ends;
  }

  Ends after_rule(RuleId rule, std::size_t from) {
    const ExpressionId definition = grammar_.definition(rule);
    if (definition < 0) return {};
    const auto key = std::pair(rule, from);
    if (!open_.insert(key).second) return known_[key];
    const Ends found = ends_of(definition, from);
    open_.erase(key);
    Ends& known = known_[key];
    const std::size_t before = known.size();
    known.insert(found.begin(), found.end());
    grown_ |= known.size() > before;
    return known;
  }

  Ends after_automaton(const CharAutomaton& automaton, std::size_t from) const {
    Ends ends;
    std::u32string taken;
    for (std::size_t at = from;;) {
      if (automaton.matches(taken)) ends.insert(at);
      if (at == text_.size()) return ends;
      const text::CodePoint next = text::code_point_at(text_, at);
      taken += next.value;
      at += next.size;
    }
  }

  const Grammar& grammar_;
  std::string_view text_;
  bool grown_ = false;
  std::set<std::pair<RuleId, std::size_t>> open_;
  std::map<std::pair<RuleId, std::size_t>, Ends> known_;
};

}  // namespace millrace::grammar
