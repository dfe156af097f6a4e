#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/grammar.h"
#include "unicode/code_points.h"

namespace millrace::grammar {

// For tests: matches a text with a grammar by the definition of grammars. For an expression and a position where its
// text begins, it computes the set of positions where that text may end. Sets of rules start empty and grow until none
// changes (the least fixed point), so every kind of recursion is handled. Slow: for short texts. The grammar must
// outlive it.
class ReferenceMatcher {
 public:
  explicit ReferenceMatcher(const Grammar& grammar) : grammar_(grammar) {}

  bool matches(std::string_view text) { return ends(text, false).contains(text.size()); }
  // Whether the text is a prefix of some text that matches.
  bool begins(std::string_view text) {
    const Ends found = ends(text, true);
    return found.contains(text.size()) || found.contains(kBeyond);
  }

 private:
  using Ends = std::set<std::size_t>;
  using Kind = Expression::Kind;
  static constexpr std::size_t kBeyond = static_cast<std::size_t>(-1);  // an end behind the given prefix

  Ends ends(std::string_view text, bool goes_on) {
    text_ = text;
    goes_on_ = goes_on;
    known_.clear();
    Ends ends;
    do {
      grown_ = false;
      ends = ends_of(grammar_.root(), 0);
    } while (grown_);
    return ends;
  }

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
    const std::string_view rest = text_.substr(from);
    if (rest.starts_with(literal)) return {from + literal.size()};
    if (goes_on_ && literal.starts_with(rest)) return {kBeyond};
    return {};
  }

  Ends character(const unicode::CodePointSet& set, std::size_t from) const {
    const auto [value, end] = utf8_at(from);
    if (end == from) return begins_one(set.ranges(), utf8_begun_at(from)) ? Ends{kBeyond} : Ends{};
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
    for (const std::size_t start : starts) {
      if (start == kBeyond) {
        if (fits_something(part)) ends.insert(kBeyond);
      } else {
        ends.merge(ends_of(part, start));
      }
    }
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
    // A rule that is reached recursively at the same position uses the ends known so far.
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
      if (end == at) {
        const auto begun = expression.spelling == Spelling::kUtf8 ? utf8_begun_at(at) : json_begun_at(at);
        if (begins_one(here.edges, begun)) ends.insert(kBeyond);
        return ends;
      }
      state = -1;
      for (const auto& edge : here.edges) {
        if (edge.first <= value && value <= edge.last) state = edge.target;
      }
      if (state < 0) return ends;
      at = end;
    }
  }

  using Character = std::pair<char32_t, std::size_t>;  // code point and its end; the end is the start if there is none

  Character utf8_at(std::size_t at) const {
    if (at >= text_.size()) return {0, at};
    const unicode::Utf8Unit unit = unicode::next_utf8_unit(text_.substr(at));
    if (unit.kind != unicode::Utf8Unit::Kind::kCharacter) return {0, at};
    return {unicode::code_point_at(text_, at).value, at + unit.size};
  }

  // A character of a JSON string, possibly escaped (RFC 8259, section 7).
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

  std::int64_t unit_at(std::size_t at) const {  // the UTF-16 unit of \uXXXX; -1 = none
    if (at + 6 > text_.size() || text_[at] != '\\' || text_[at + 1] != 'u') return -1;
    std::int64_t value = 0;
    for (const char c : text_.substr(at + 2, 4)) {
      const std::size_t digit = kDigits.find(c);
      if (digit == std::string_view::npos) return -1;
      value = value * 16 + static_cast<std::int64_t>(digit < 16 ? digit : digit - 6);
    }
    return value;
  }

  using Ranges = std::vector<std::pair<char32_t, char32_t>>;

  // Appends the range without surrogates.
  static void add_characters(char32_t first, char32_t last, Ranges& to) {
    if (first < kFirstSurrogate) to.emplace_back(first, std::min<char32_t>(last, kFirstSurrogate - 1));
    if (last > kLastSurrogate) to.emplace_back(std::max<char32_t>(first, kLastSurrogate + 1), last);
  }

  template <typename These>
  bool begins_one(const These& these, const Ranges& begun) const {
    for (const auto& [first, last] : begun) {
      for (const auto& range : these) {
        if (range.first <= last && first <= range.last) return true;
      }
    }
    return false;
  }

  // The characters whose UTF-8 bytes may begin with the rest of the prefix.
  Ranges utf8_begun_at(std::size_t at) const {
    Ranges out;
    if (!goes_on_) return out;
    const std::string_view rest = text_.substr(at);
    if (rest.empty()) {
      add_characters(0, kLastCodePoint, out);
      return out;
    }
    const auto lead = static_cast<unsigned char>(rest[0]);
    const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || rest.size() >= size) return out;
    char32_t first = lead & (0xFFu >> (size + 1));
    for (const char c : rest.substr(1)) {
      if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) return out;
      first = first << 6 | (static_cast<unsigned char>(c) & 0x3F);
    }
    const std::size_t missing = 6 * (size - rest.size());
    const char32_t last = std::min<char32_t>(((first + 1) << missing) - 1, kLastCodePoint);
    first = std::max<char32_t>(first << missing, size == 2 ? 0x80 : size == 3 ? 0x800 : 0x10000);
    if (first <= last) add_characters(first, last, out);
    return out;
  }

  Ranges json_begun_at(std::size_t at) const {
    Ranges out;
    if (!goes_on_) return out;
    const std::string_view rest = text_.substr(at);
    if (rest.empty() || rest == "\\") {
      add_characters(0, kLastCodePoint, out);
      return out;
    }
    if (rest[0] != '\\') return utf8_begun_at(at);
    const std::int64_t high = unit_at(at);
    if (high < 0) {
      const auto [first, last] = unit_begun_at(at);
      if (first <= last) add_characters(first, last, out);
      for (char32_t one = std::max(first, kFirstSurrogate); one <= std::min<char32_t>(last, 0xDBFF); ++one) {
        out.emplace_back(pair(one, 0xDC00), pair(one, 0xDFFF));
      }
    } else if (high >= 0xD800 && high < 0xDC00 && unit_at(at + 6) < 0) {
      auto [first, last] = unit_begun_at(at + 6);
      first = std::max<char32_t>(first, 0xDC00);
      last = std::min<char32_t>(last, 0xDFFF);
      const auto one = static_cast<char32_t>(high);
      if (first <= last) out.emplace_back(pair(one, first), pair(one, last));
    }
    return out;
  }

  static char32_t pair(char32_t high, char32_t low) {
    return 0x10000 + ((high - kFirstSurrogate) << 10) + (low - 0xDC00);
  }

  // The range of units whose escape \uXXXX may begin with the rest of the prefix; empty if first > last.
  std::pair<char32_t, char32_t> unit_begun_at(std::size_t at) const {
    constexpr std::pair<char32_t, char32_t> kNone = {1, 0};
    std::string_view rest = text_.substr(at);
    constexpr std::string_view kMark = "\\u";
    if (rest.size() <= kMark.size()) return kMark.starts_with(rest) ? std::pair<char32_t, char32_t>{0, 0xFFFF} : kNone;
    if (!rest.starts_with(kMark) || rest.size() >= 6) return kNone;
    char32_t first = 0;
    rest.remove_prefix(kMark.size());
    for (const char c : rest) {
      const std::size_t digit = kDigits.find(c);
      if (digit == std::string_view::npos) return kNone;
      first = first * 16 + static_cast<char32_t>(digit < 16 ? digit : digit - 6);
    }
    const std::size_t missing = 4 * (4 - rest.size());
    return {first << missing, ((first + 1) << missing) - 1};
  }

  bool fits_something(ExpressionId id) {
    if (fitting_rules_.empty()) find_fitting_rules();
    const Expression& expression = grammar_.at(id);
    const auto fits = [&](ExpressionId part) { return fits_something(part); };
    switch (expression.kind) {
      case Kind::kBytes:
      case Kind::kSpecial: return true;
      case Kind::kCharacter: return begins_one(expression.set.ranges(), {{0, 0xD7FF}, {0xE000, kLastCodePoint}});
      case Kind::kSequence: return std::ranges::all_of(expression.parts, fits);
      case Kind::kChoice: return std::ranges::any_of(expression.parts, fits);
      case Kind::kRepeat: return expression.least == 0 || fits(expression.parts[0]);
      case Kind::kRule: return fitting_rules_[static_cast<std::size_t>(expression.rule)];
      case Kind::kAutomaton: return !expression.automaton.empty();
    }
    return false;
  }

  void find_fitting_rules() {
    fitting_rules_.assign(std::max<std::size_t>(grammar_.rules(), 1), false);
    for (bool more = true; more;) {
      more = false;
      for (std::size_t i = 0; i < grammar_.rules(); ++i) {
        const ExpressionId definition = grammar_.definition(static_cast<RuleId>(i));
        if (fitting_rules_[i] || definition < 0 || !fits_something(definition)) continue;
        more = fitting_rules_[i] = true;
      }
    }
  }

  static constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
  const Grammar& grammar_;
  std::string_view text_;
  bool goes_on_ = false;
  std::map<std::pair<RuleId, std::size_t>, Ends> known_;
  std::set<std::pair<RuleId, std::size_t>> open_;
  bool grown_ = false;
  std::vector<bool> fitting_rules_;  // by rule: whether some text fits it; empty: not computed yet
};

}  // namespace millrace::grammar
