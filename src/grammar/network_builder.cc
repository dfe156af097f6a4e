// From the expressions of a grammar to a draft of its network (Thompson, CACM 11(6), 1968).

#include <algorithm>
#include <map>
#include <utility>

#include "grammar/network_draft.h"
#include "grammar/spelling.h"

namespace millrace::grammar {
namespace {

using Kind = Expression::Kind;

constexpr int kMaxDepth = 4000;          // of nested expressions
constexpr std::int64_t kMaxInline = 96;  // states that copies of a repeated part may take before it becomes a rule

class NetworkBuilder {
 public:
  NetworkBuilder(const Grammar& grammar, const text::Tokenizer* tokenizer, WorkMeter& meter)
      : grammar_(grammar), tokenizer_(tokenizer), meter_(meter), rule_of_(grammar.rules(), -1) {}

  Result<NetworkDraft> build() {
    draft_.root = new_rule(true);
    if (auto fine = build_rule(draft_.root, grammar_.root()); !fine) return fine.error();
    while (!waiting_.empty()) {  // rules that were called and not yet built
      const auto [rule, expression] = waiting_.back();
      waiting_.pop_back();
      if (auto fine = build_rule(rule, expression); !fine) return fine.error();
    }
    return std::move(draft_);
  }

 private:
  std::int32_t new_rule(bool unit) {
    draft_.rules.push_back({.start = draft_.add_state(), .unit = unit});
    return static_cast<std::int32_t>(draft_.rules.size()) - 1;
  }

  Result<void> build_rule(std::int32_t rule, ExpressionId expression) {
    if (expression < 0) return {};  // not defined: nothing fits
    const auto end = build(expression, draft_.rule(rule).start, 0);
    if (!end) return end.error();
    draft_.at(*end).final = true;
    return {};
  }

  // Adds the expression's automaton behind `from`. The state behind it, which has no edges yet and is another.
  Result<std::int32_t> build(ExpressionId id, std::int32_t from, int depth) {
    if (depth > kMaxDepth) {
      return make_error(ErrorCode::kResourceExhausted, "grammar", "the grammar is nested more than {} deep", kMaxDepth);
    }
    if (auto fine = meter_.spend(); !fine) return fine.error();
    const Expression& expression = grammar_.at(id);
    switch (expression.kind) {
      case Kind::kBytes: return literal(expression.text, from);
      case Kind::kSpecial: return special(expression.text, from);
      case Kind::kCharacter: return characters(expression.set, Spelling::kUtf8, from);
      case Kind::kAutomaton: return automaton(expression, from);
      case Kind::kRule: return call(called(expression.rule), from);
      case Kind::kChoice: return choice(expression, from, depth);
      case Kind::kRepeat: return repeat(expression, from, depth);
      case Kind::kSequence: break;
    }
    std::int32_t at = from;
    for (const ExpressionId part : expression.parts) {
      const auto end = build(part, at, depth + 1);
      if (!end) return end.error();
      at = *end;
    }
    return at == from ? empty(from) : at;
  }

  std::int32_t empty(std::int32_t from) {
    const std::int32_t end = draft_.add_state();
    draft_.at(from).empty.push_back(end);
    return end;
  }
  std::int32_t edge(std::int32_t from, ByteRange range) {
    const std::int32_t end = draft_.add_state();
    draft_.at(from).bytes.push_back({range.first, range.last, end});
    return end;
  }
  std::int32_t call(std::int32_t rule, std::int32_t from) {
    const std::int32_t end = draft_.add_state();
    draft_.at(from).calls.push_back({rule, end});
    return end;
  }

  Result<std::int32_t> literal(std::string_view text, std::int32_t from) {
    if (auto fine = meter_.spend(static_cast<std::int64_t>(text.size())); !fine) return fine.error();
    if (text.empty()) return empty(from);
    for (const char c : text) from = edge(from, {static_cast<std::uint8_t>(c), static_cast<std::uint8_t>(c)});
    return from;
  }

  Result<std::int32_t> special(std::string_view text, std::int32_t from) {
    const auto token = tokenizer_ == nullptr ? std::nullopt : tokenizer_->find(text);
    const bool is_special = token && tokenizer_->is_special(*token);
    return literal(is_special ? special_bytes(*token) : std::string(text), from);
  }

  std::int32_t called(RuleId rule) {
    std::int32_t& made = rule_of_[static_cast<std::size_t>(rule)];
    if (made < 0) {
      made = new_rule(true);
      waiting_.emplace_back(made, grammar_.definition(rule));
    }
    return made;
  }

  // One character of the set: in place if that is a byte or two, else a rule that all uses of the set share.
  Result<std::int32_t> characters(const unicode::CodePointSet& set, Spelling spelling, std::int32_t from) {
    const auto& ranges = set.ranges();
    const std::int32_t end = draft_.add_state();
    if (spelling == Spelling::kUtf8 && !ranges.empty() && ranges.back().last < 0x80) {
      for (const auto range : ranges) {
        draft_.at(from).bytes.push_back(
            {static_cast<std::uint8_t>(range.first), static_cast<std::uint8_t>(range.last), end});
      }
      return end;
    }
    std::pair<Spelling, std::vector<std::pair<char32_t, char32_t>>> key{spelling, {}};
    for (const auto range : ranges) key.second.emplace_back(range.first, range.last);
    const auto [known, is_new] = character_rules_.try_emplace(std::move(key), -1);
    if (is_new) {
      known->second = new_rule(false);
      if (auto fine = build_character_rule(known->second, set, spelling); !fine) return fine.error();
    }
    draft_.at(from).calls.push_back({known->second, end});
    return end;
  }

  Result<void> build_character_rule(std::int32_t rule, const unicode::CodePointSet& set, Spelling spelling) {
    const std::int32_t end = draft_.add_state();
    draft_.at(end).final = true;
    std::vector<std::int32_t> path;  // states behind the ranges of the spelling before
    ByteSets before;
    for (ByteSets& one : spellings(set, spelling)) {
      if (auto fine = meter_.spend(static_cast<std::int64_t>(one.size())); !fine) return fine;
      std::size_t same = 0;
      while (same + 1 < one.size() && same + 1 < before.size() && one[same] == before[same]) ++same;
      path.resize(same);
      for (std::size_t i = same; i < one.size(); ++i) {
        const std::int32_t from = i == 0 ? draft_.rule(rule).start : path[i - 1];
        const std::int32_t to = i + 1 == one.size() ? end : draft_.add_state();
        for (const ByteRange range : one[i]) draft_.at(from).bytes.push_back({range.first, range.last, to});
        path.push_back(to);
      }
      before = std::move(one);
    }
    return {};
  }

  Result<std::int32_t> automaton(const Expression& expression, std::int32_t from) {
    const auto& states = expression.automaton.states();
    if (auto fine = meter_.spend(static_cast<std::int64_t>(states.size())); !fine) return fine.error();
    std::vector<std::int32_t> made(states.size());
    for (std::int32_t& state : made) state = draft_.add_state();
    draft_.at(from).empty.push_back(made[0]);
    const std::int32_t end = draft_.add_state();
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (states[i].accepts) draft_.at(made[i]).empty.push_back(end);
      std::map<std::int32_t, unicode::CodePointSet> by_target;
      for (const CharAutomaton::Edge& one : states[i].edges) by_target[one.target].add(one.first, one.last);
      for (const auto& [target, set] : by_target) {
        const auto reached = characters(set, expression.spelling, made[i]);
        if (!reached) return reached.error();
        draft_.at(*reached).empty.push_back(made[static_cast<std::size_t>(target)]);
      }
    }
    return end;
  }

  Result<std::int32_t> choice(const Expression& expression, std::int32_t from, int depth) {
    const std::int32_t end = draft_.add_state();
    std::vector<std::string_view> literals;
    for (const ExpressionId part : expression.parts) {
      if (grammar_.at(part).kind == Kind::kBytes) {
        literals.push_back(grammar_.at(part).text);
        continue;
      }
      const std::int32_t begin = draft_.add_state();
      draft_.at(from).empty.push_back(begin);
      const auto reached = build(part, begin, depth + 1);
      if (!reached) return reached.error();
      draft_.at(*reached).empty.push_back(end);
    }
    std::ranges::sort(literals);
    if (auto fine = trie(literals, from, end); !fine) return fine.error();
    return end;
  }

  // Texts, sorted, as a tree of their beginnings.
  Result<void> trie(const std::vector<std::string_view>& texts, std::int32_t from, std::int32_t end) {
    std::vector<std::int32_t> path = {from};  // [i]: behind i bytes of the text before
    std::string_view before;
    for (const std::string_view text : texts) {
      const auto same = static_cast<std::size_t>(std::ranges::mismatch(text, before).in1 - text.begin());
      if (auto fine = meter_.spend(static_cast<std::int64_t>(text.size() - same)); !fine) return fine;
      path.resize(same + 1);
      for (std::size_t i = same; i < text.size(); ++i) {
        const auto byte = static_cast<std::uint8_t>(text[i]);
        path.push_back(edge(path.back(), {byte, byte}));
      }
      draft_.at(path.back()).empty.push_back(end);
      before = text;
    }
    return {};
  }

  Result<std::int32_t> repeat(const Expression& expression, std::int32_t from, int depth) {
    const ExpressionId part = expression.parts[0];
    const bool unlimited = expression.most == kUnlimited;
    const std::int64_t copies = unlimited ? std::max<std::int64_t>(expression.least, 1) : expression.most;
    if (copies > meter_.limits().repeat) {
      return make_error(ErrorCode::kResourceExhausted, "grammar", "a repetition of {} is more than the limit of {}",
                        copies, meter_.limits().repeat);
    }
    std::int32_t rule = -1;
    if (copies > 1 && size_of(part, 0) * copies > kMaxInline && grammar_.at(part).kind != Kind::kRule) {
      rule = new_rule(false);
      waiting_.emplace_back(rule, part);
    }
    const auto once = [&](std::int32_t at) -> Result<std::int32_t> {
      if (auto fine = meter_.spend(); !fine) return fine.error();
      return rule < 0 ? build(part, at, depth + 1) : Result<std::int32_t>(call(rule, at));
    };
    const std::int32_t end = draft_.add_state();
    std::int32_t at = empty(from);
    for (std::int64_t i = 0; i < copies; ++i) {
      if (i >= expression.least) draft_.at(at).empty.push_back(end);
      const auto next = once(at);
      if (!next) return next.error();
      // The last copy of an unlimited one goes round.
      if (unlimited && i + 1 == copies) draft_.at(*next).empty.push_back(at);
      at = *next;
    }
    draft_.at(at).empty.push_back(end);
    return end;
  }

  // About the states that an expression takes.
  std::int64_t size_of(ExpressionId id, int depth) const {
    const Expression& expression = grammar_.at(id);
    if (depth > 8) return kMaxInline;
    std::int64_t size = 1 + static_cast<std::int64_t>(expression.text.size());
    if (expression.kind == Kind::kAutomaton) size += std::ssize(expression.automaton.states()) * 2;
    for (const ExpressionId part : expression.parts) {
      size += size_of(part, depth + 1);
      if (size > kMaxInline) break;
    }
    if (expression.kind == Kind::kRepeat) size *= std::max<std::int64_t>({expression.least, expression.most, 1});
    return std::min(size, kMaxInline);
  }

  const Grammar& grammar_;
  const text::Tokenizer* tokenizer_;
  WorkMeter& meter_;
  NetworkDraft draft_;
  std::vector<std::int32_t> rule_of_;  // of the grammar's rules
  std::vector<std::pair<std::int32_t, ExpressionId>> waiting_;
  std::map<std::pair<Spelling, std::vector<std::pair<char32_t, char32_t>>>, std::int32_t> character_rules_;
};

// Bytes that no edge distinguishes get one class.
void classify_bytes(TransitionNetwork& network) {
  std::array<bool, 257> border{};
  for (const auto& edge : network.byte_edges) border[edge.first] = border[edge.last + 1u] = true;
  int classes = 0;
  for (std::size_t b = 0; b < 256; ++b) {
    if (b > 0 && border[b]) ++classes;
    network.byte_class[b] = static_cast<std::uint8_t>(classes);
  }
  network.byte_classes = classes + 1;
}

// Ranks by depth-first search: who is called on the left comes after its callers. Without left recursion there is one.
void rank_rules(TransitionNetwork& network, const std::vector<std::vector<std::int32_t>>& corners) {
  std::vector<std::int8_t> seen(network.rules.size(), 0);
  std::int32_t rank = static_cast<std::int32_t>(network.rules.size());
  std::vector<std::pair<std::int32_t, std::size_t>> stack;
  for (std::size_t root = 0; root < network.rules.size(); ++root) {
    if (seen[root] != 0) continue;
    seen[root] = 1;
    stack.emplace_back(static_cast<std::int32_t>(root), 0);
    while (!stack.empty()) {
      auto& [rule, next] = stack.back();
      const auto& called = corners[static_cast<std::size_t>(rule)];
      if (next == called.size()) {
        network.rules[static_cast<std::size_t>(rule)].rank = --rank;
        stack.pop_back();
      } else if (const auto other = static_cast<std::size_t>(called[next++]); seen[other] == 0) {
        seen[other] = 1;
        stack.emplace_back(static_cast<std::int32_t>(other), 0);
      }
    }
  }
}

TransitionNetwork finish(const NetworkDraft& draft) {
  TransitionNetwork network;
  std::vector<std::int32_t> number(draft.states.size(), -1), order;
  for (std::size_t r = 0; r < draft.rules.size(); ++r) {  // states of a rule side by side, in the order of their use
    if (draft.rules[r].start < 0) continue;
    std::vector<std::int32_t> found;
    const auto visit = [&](std::int32_t state) {
      if (number[static_cast<std::size_t>(state)] >= 0) return;
      number[static_cast<std::size_t>(state)] = static_cast<std::int32_t>(order.size());
      order.push_back(state);
      found.push_back(state);
      network.states.push_back({.rule = static_cast<std::int32_t>(r)});
    };
    visit(draft.rules[r].start);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::int32_t from = found[i];
      for (const auto& edge : draft.at(from).bytes) visit(edge.target);
      for (const auto& edge : draft.at(from).calls) visit(edge.target);
    }
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const NetworkDraft::State& from = draft.at(order[i]);
    TransitionNetwork::State& state = network.states[i];
    state.bytes_begin = static_cast<std::uint32_t>(network.byte_edges.size());
    state.calls_begin = static_cast<std::uint32_t>(network.call_edges.size());
    state.final = from.final;
    state.tail = from.final && from.bytes.empty() && from.calls.empty();
    for (auto edge : from.bytes) {
      edge.target = number[static_cast<std::size_t>(edge.target)];
      network.byte_edges.push_back(edge);
    }
    for (auto edge : from.calls) {
      edge.target = number[static_cast<std::size_t>(edge.target)];
      network.call_edges.push_back(edge);
    }
  }
  network.states.push_back({.bytes_begin = static_cast<std::uint32_t>(network.byte_edges.size()),
                            .calls_begin = static_cast<std::uint32_t>(network.call_edges.size())});
  for (std::size_t r = 0; r < draft.rules.size(); ++r) {
    const std::int32_t start = draft.rules[r].start;
    network.rules.push_back(
        {.start = start < 0 ? 0 : number[static_cast<std::size_t>(start)], .unit = draft.rules[r].unit});
  }
  network.root = draft.root;
  classify_bytes(network);
  rank_rules(network, left_corners(draft));
  return network;
}

}  // namespace

std::size_t TransitionNetwork::memory() const noexcept {
  return states.capacity() * sizeof(State) + byte_edges.capacity() * sizeof(ByteEdge) +
         call_edges.capacity() * sizeof(CallEdge) + rules.capacity() * sizeof(Rule);
}

std::string special_bytes(text::TokenId token) { return static_cast<char>(kSpecialByte) + std::to_string(token) + ';'; }

Result<TransitionNetwork> build_network(const Grammar& grammar, const text::Tokenizer* tokenizer, WorkMeter& meter) {
  auto draft = NetworkBuilder(grammar, tokenizer, meter).build();
  if (!draft) return draft.error();
  if (auto fine = remove_empty_rules(*draft, meter); !fine) return fine.error();
  remove_dead_ends(*draft);
  if (auto fine = remove_left_recursion(*draft, meter); !fine) return fine.error();
  remove_dead_ends(*draft);
  const NetworkDraft::State& start = draft->at(draft->rule(draft->root).start);
  if (!start.final && start.bytes.empty() && start.calls.empty()) {
    return grammar_invalid("no text fits the grammar: it asks for what cannot be, or never comes to an end");
  }
  return finish(*draft);
}

}  // namespace millrace::grammar
