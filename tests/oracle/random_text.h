#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "grammar/grammar.h"
#include "unicode/code_points.h"

namespace millrace::grammar {

// Random texts that fit a grammar. Beyond a length the shortest ways are taken, so that every text ends.
class RandomText {
 public:
  RandomText(const Grammar& grammar, unsigned seed) : grammar_(grammar), random_(seed) { find_costs(); }

  std::string text() {
    text_.clear();
    write(grammar_.root());
    return text_;
  }

 private:
  using Kind = Expression::Kind;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int32_t>::max();
  static constexpr std::size_t kLong = 200;  // bytes

  std::int64_t cost(ExpressionId id) const { return costs_[static_cast<std::size_t>(id)]; }

  // The fewest nested expressions that end in a text: the least fixed point.
  void find_costs() {
    costs_.assign(grammar_.size(), kNever);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < costs_.size(); ++i) {
        const std::int64_t found = cost_of(grammar_.at(static_cast<ExpressionId>(i)));
        changed = changed || found < costs_[i];
        costs_[i] = std::min(costs_[i], found);
      }
    }
  }

  std::int64_t cost_of(const Expression& expression) const {
    std::int64_t found = 0;
    switch (expression.kind) {
      case Kind::kBytes:
      case Kind::kSpecial: return 1;
      case Kind::kCharacter: return expression.set.ranges().empty() ? kNever : 1;
      case Kind::kAutomaton: return expression.automaton.empty() ? kNever : 1;
      case Kind::kSequence:
        for (const ExpressionId part : expression.parts) found += cost(part);
        return std::min(found + 1, kNever);
      case Kind::kChoice:
        found = kNever;
        for (const ExpressionId part : expression.parts) found = std::min(found, cost(part) + 1);
        return std::min(found, kNever);
      case Kind::kRepeat:
        return expression.least == 0 ? 1 : std::min(cost(expression.parts[0]) * expression.least + 1, kNever);
      case Kind::kRule: {
        const ExpressionId definition = grammar_.definition(expression.rule);
        return definition < 0 ? kNever : std::min(cost(definition) + 1, kNever);
      }
    }
    return kNever;
  }

  std::size_t below(std::size_t n) { return random_() % n; }
  bool is_long() const { return text_.size() > kLong; }

  void write(ExpressionId id) {
    const Expression& expression = grammar_.at(id);
    switch (expression.kind) {
      case Kind::kBytes:
      case Kind::kSpecial: text_ += expression.text; return;
      case Kind::kCharacter: character(expression.set.ranges()); return;
      case Kind::kAutomaton: automaton(expression); return;
      case Kind::kRule: write(grammar_.definition(expression.rule)); return;
      case Kind::kChoice: choice(expression); return;
      case Kind::kRepeat: repeat(expression); return;
      case Kind::kSequence:
        for (const ExpressionId part : expression.parts) write(part);
        return;
    }
  }

  void choice(const Expression& expression) {
    std::vector<ExpressionId> parts;
    for (const ExpressionId part : expression.parts) {
      if (cost(part) < kNever) parts.push_back(part);
    }
    const auto cheapest =
        std::min_element(parts.begin(), parts.end(), [&](ExpressionId a, ExpressionId b) { return cost(a) < cost(b); });
    write(is_long() ? *cheapest : parts[below(parts.size())]);
  }

  void repeat(const Expression& expression) {
    std::int64_t times = expression.least;
    if (!is_long() && cost(expression.parts[0]) < kNever) {
      while (below(3) > 0 && (expression.most == kUnlimited || times < expression.most)) ++times;
    }
    for (std::int64_t i = 0; i < times; ++i) write(expression.parts[0]);
  }

  template <typename Ranges>
  void character(const Ranges& ranges) {
    const auto& range = ranges[below(ranges.size())];
    unicode::append_utf8(text_, in(range.first, range.last));
  }

  char32_t in(char32_t first, char32_t last) {
    const char32_t near = std::min<char32_t>(last, std::max<char32_t>(first, U'~'));
    char32_t made = below(4) > 0 ? std::max<char32_t>(first, U' ') : first;
    made = std::min(made, near);
    made += static_cast<char32_t>(below((below(8) > 0 ? near : last) - made + 1));
    return made >= 0xD800 && made <= 0xDFFF ? first : made;
  }

  // A random walk; beyond a length, straight to an end.
  void automaton(const Expression& expression) {
    const auto& states = expression.automaton.states();
    const std::vector<std::size_t> distance = distances(states);
    std::size_t state = 0, steps = 0;
    while (true) {
      const auto& here = states[state];
      if (here.edges.empty() || (here.accepts && (below(6) == 0 || steps > 20))) return;
      const auto* edge = &here.edges[below(here.edges.size())];
      if (steps > 20) {
        for (const auto& other : here.edges) {
          if (distance[static_cast<std::size_t>(other.target)] < distance[static_cast<std::size_t>(edge->target)]) {
            edge = &other;
          }
        }
      }
      spell(in(edge->first, edge->last), expression.spelling);
      state = static_cast<std::size_t>(edge->target);
      ++steps;
    }
  }

  static std::vector<std::size_t> distances(const std::vector<CharAutomaton::State>& states) {
    std::vector<std::size_t> found(states.size(), states.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t i = 0; i < states.size(); ++i) {
        std::size_t here = states[i].accepts ? 0 : found[i];
        for (const auto& edge : states[i].edges)
          here = std::min(here, found[static_cast<std::size_t>(edge.target)] + 1);
        changed = changed || here < found[i];
        found[i] = std::min(found[i], here);
      }
    }
    return found;
  }

  void spell(char32_t c, Spelling spelling) {
    const bool must = c < 0x20 || c == '"' || c == '\\';
    if (spelling == Spelling::kUtf8 || (!must && below(10) > 0)) return unicode::append_utf8(text_, c);
    if (c >= 0x10000) {
      unit(0xD800 + ((c - 0x10000) >> 10));
      return unit(0xDC00 + ((c - 0x10000) & 0x3FF));
    }
    unit(c);
  }

  void unit(char32_t value) {
    constexpr char kDigits[] = "0123456789abcdef";
    text_ += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4) text_ += kDigits[value >> shift & 15];
  }

  const Grammar& grammar_;
  std::mt19937 random_;
  std::vector<std::int64_t> costs_;
  std::string text_;
};

}  // namespace millrace::grammar
