#include "grammar/regex/regex.h"

#include <optional>
#include <string>
#include <utility>

#include "grammar/char_nfa.h"
#include "grammar/regex/character_classes.h"
#include "unicode/code_points.h"

namespace millrace::grammar {
namespace {

using Kind = RegexNode::Kind;

std::int64_t cost_of(const RegexNode& node) {
  return 1 + static_cast<std::int64_t>(node.set.ranges().size()) / kRangesOfAState;
}

// Writes nodes into an automaton, counts written out. A refusal of the meter ends it early; the result is then unused.
class NfaWriter {
 public:
  using StateId = CharNfa::StateId;
  NfaWriter(const Regex& regex, WorkMeter& meter) : regex_(regex), meter_(meter) {}

  Result<CharAutomaton> run(RegexMatch match) {
    const StateId first = nfa_.add_state(), last = nfa_.add_state();
    StateId start = first, end = last;
    if (match == RegexMatch::kSearch) {
      start = nfa_.add_state();
      end = nfa_.add_state();
      nfa_.add_edge(start, 0, kLastCodePoint, start);
      nfa_.add_free_edge(start, first);
      nfa_.add_free_edge(last, end);
      nfa_.add_edge(end, 0, kLastCodePoint, end);
    }
    write(regex_.root, first, last);
    if (!spent_) return spent_.error();
    return nfa_.determinised(start, end, meter_);
  }

 private:
  void write(RegexNodeId id, StateId from, StateId to) {
    const RegexNode& node = regex_.at(id);
    if (spent_) spent_ = meter_.spend(cost_of(node));
    if (!spent_) return;
    switch (node.kind) {
      case Kind::kCharacter:
        for (const auto& range : node.set.ranges()) nfa_.add_edge(from, range.first, range.last, to);
        return;
      case Kind::kSequence:
        for (const RegexNodeId part : node.parts) {
          const StateId next = nfa_.add_state();
          write(part, from, next);
          from = next;
        }
        return nfa_.add_free_edge(from, to);
      case Kind::kChoice:
        for (const RegexNodeId part : node.parts) write(part, from, to);
        return;
      case Kind::kRepeat: return write_repeat(node, from, to);
      case Kind::kTextStart: return nfa_.add_free_edge(from, to, CharNfa::When::kAtTextStart);
      case Kind::kTextEnd: return nfa_.add_free_edge(from, to, CharNfa::When::kAtTextEnd);
    }
  }

  void write_repeat(const RegexNode& node, StateId from, StateId to) {
    // Its own copy of `from`: a loop must not be entered from what else leads there.
    StateId at = nfa_.add_state();
    nfa_.add_free_edge(from, at);
    const auto step = [&] {
      const StateId next = nfa_.add_state();
      write(node.parts[0], at, next);
      at = next;
    };
    for (std::int64_t i = 0; i < node.least && spent_; ++i) step();
    if (node.most < 0) write(node.parts[0], at, at);
    for (std::int64_t i = node.least; i < node.most && spent_; ++i) {
      nfa_.add_free_edge(at, to);
      step();
    }
    nfa_.add_free_edge(at, to);
  }

  const Regex& regex_;
  WorkMeter& meter_;
  CharNfa nfa_;
  Result<void> spent_;
};

// What may stand beside a node: more of the pattern; the end of the text; or any text and then the end.
enum class Side : std::uint8_t { kPattern, kEnd, kAnything };

class ExpressionWriter {
 public:
  ExpressionWriter(const Regex& regex, Grammar& to) : regex_(regex), to_(to) {}

  // The node and, where a side is kAnything, any text there. None where an anchor stands at a side that is kPattern or
  // away from the sides.
  std::optional<ExpressionId> write(RegexNodeId id, Side left, Side right) {
    const RegexNode& node = regex_.at(id);
    if (!node.has_anchor) return between(plain(id), left, right);
    if (node.kind == Kind::kChoice) {
      std::vector<ExpressionId> choices;
      for (const RegexNodeId part : node.parts) {
        const auto choice = write(part, left, right);
        if (!choice) return std::nullopt;
        choices.push_back(*choice);
      }
      return to_.choice(std::move(choices));
    }
    if (node.kind == Kind::kRepeat) return std::nullopt;
    const RegexNodeId self = id;
    return write_sequence(node.kind == Kind::kSequence ? std::span(node.parts) : std::span(&self, 1), left, right);
  }

 private:
  std::optional<ExpressionId> write_sequence(std::span<const RegexNodeId> parts, Side left, Side right) {
    const auto kind = [&](RegexNodeId id) { return regex_.at(id).kind; };
    while (!parts.empty() && kind(parts.front()) == Kind::kTextStart && left != Side::kPattern) {
      left = Side::kEnd;
      parts = parts.subspan(1);
    }
    while (!parts.empty() && kind(parts.back()) == Kind::kTextEnd && right != Side::kPattern) {
      right = Side::kEnd;
      parts = parts.first(parts.size() - 1);
    }
    if (parts.empty()) return between(to_.bytes(""), left, right);
    if (parts.size() == 1) {
      const bool is_anchor = kind(parts[0]) == Kind::kTextStart || kind(parts[0]) == Kind::kTextEnd;
      return is_anchor ? std::nullopt : write(parts[0], left, right);
    }
    for (const RegexNodeId part : parts.subspan(1, parts.size() - 2)) {
      if (regex_.at(part).has_anchor) return std::nullopt;
    }
    const auto first = write(parts.front(), left, Side::kPattern);
    const auto last = write(parts.back(), Side::kPattern, right);
    if (!first || !last) return std::nullopt;
    return to_.sequence({*first, plain_sequence(parts.subspan(1, parts.size() - 2)), *last});
  }

  ExpressionId between(ExpressionId inside, Side left, Side right) {
    if (left != Side::kAnything && right != Side::kAnything) return inside;
    const auto pad = [&](Side side) { return side == Side::kAnything ? anything() : to_.bytes(""); };
    const ExpressionId before = pad(left), after = pad(right);
    return to_.sequence({before, inside, after});
  }

  ExpressionId anything() { return to_.repeat(to_.character(all_characters()), 0, kUnlimited); }

  ExpressionId plain(RegexNodeId id) {
    const RegexNode& node = regex_.at(id);
    if (node.kind == Kind::kCharacter) return to_.character(node.set);
    if (node.kind == Kind::kSequence) return plain_sequence(node.parts);
    std::vector<ExpressionId> parts;
    for (const RegexNodeId part : node.parts) parts.push_back(plain(part));
    return node.kind == Kind::kChoice ? to_.choice(std::move(parts)) : to_.repeat(parts[0], node.least, node.most);
  }

  // Neighbouring single characters become one literal.
  ExpressionId plain_sequence(std::span<const RegexNodeId> ids) {
    std::vector<ExpressionId> parts;
    std::string literal;
    const auto end_literal = [&] {
      if (!literal.empty()) parts.push_back(to_.bytes(std::exchange(literal, {})));
    };
    for (const RegexNodeId id : ids) {
      const auto& ranges = regex_.at(id).set.ranges();
      const bool is_one =
          regex_.at(id).kind == Kind::kCharacter && ranges.size() == 1 && ranges[0].first == ranges[0].last;
      if (is_one) {
        unicode::append_utf8(literal, ranges[0].first);
        continue;
      }
      end_literal();
      parts.push_back(plain(id));
    }
    end_literal();
    return parts.size() == 1 ? parts[0] : to_.sequence(std::move(parts));
  }

  const Regex& regex_;
  Grammar& to_;
};

}  // namespace

Result<CharAutomaton> regex_automaton(std::string_view pattern, RegexMatch match, WorkMeter& meter, RegexFlags flags) {
  const auto regex = parse_regex(pattern, meter.limits(), flags);
  if (!regex) return regex.error();
  return NfaWriter(*regex, meter).run(match);
}

Result<ExpressionId> add_regex(Grammar& to, std::string_view pattern, RegexMatch match, WorkMeter& meter,
                               RegexFlags flags) {
  const auto regex = parse_regex(pattern, meter.limits(), flags);
  if (!regex) return regex.error();
  for (const RegexNode& node : regex->nodes) {
    if (auto fine = meter.spend(cost_of(node)); !fine) return fine.error();
  }
  const Side side = match == RegexMatch::kSearch ? Side::kAnything : Side::kEnd;
  if (const auto written = ExpressionWriter(*regex, to).write(regex->root, side, side)) return *written;
  auto automaton = NfaWriter(*regex, meter).run(match);
  if (!automaton) return automaton.error();
  return to.automaton(*std::move(automaton));
}

}  // namespace millrace::grammar
