#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/work_limits.h"
#include "text/tokenizer.h"

namespace millrace::grammar {

// A grammar as a recursive transition network (Woods, CACM 13(10), 1970): each rule is a nondeterministic automaton
// whose edges read a byte or call a rule. There are no empty edges; every state lies on a path through its rule; every
// rule but the root reads at least one byte, and none calls itself before it has read one. Plain data.
struct TransitionNetwork {
  struct ByteEdge {
    std::uint8_t first, last;
    std::int32_t target;
  };
  struct CallEdge {
    std::int32_t rule, target;  // `target` is the state after the called rule
  };
  struct State {
    std::uint32_t bytes_begin = 0, calls_begin = 0;  // its edges end where those of the next state begin
    std::int32_t rule = 0;
    bool final = false;
    bool tail = false;  // final without edges: a call here returns to the caller's caller
  };
  struct Rule {
    std::int32_t start = 0;
    bool unit = true;       // a rule of the grammar; false: a rule made for a part of one
    std::int32_t rank = 0;  // higher than that of all rules that may call it before reading a byte
  };
  std::vector<State> states;  // with one extra at the end, for the ends of edges
  std::vector<ByteEdge> byte_edges;
  std::vector<CallEdge> call_edges;
  std::vector<Rule> rules;
  std::int32_t root = 0;
  std::array<std::uint8_t, 256> byte_class{};  // bytes in one class are in the same edges everywhere
  int byte_classes = 0;

  std::span<const ByteEdge> bytes_of(std::int32_t state) const {
    const auto i = static_cast<std::size_t>(state);
    return {byte_edges.data() + states[i].bytes_begin, states[i + 1].bytes_begin - states[i].bytes_begin};
  }
  std::span<const CallEdge> calls_of(std::int32_t state) const {
    const auto i = static_cast<std::size_t>(state);
    return {call_edges.data() + states[i].calls_begin, states[i + 1].calls_begin - states[i].calls_begin};
  }
  const State& state(std::int32_t id) const { return states[static_cast<std::size_t>(id)]; }
  const Rule& rule(std::int32_t id) const { return rules[static_cast<std::size_t>(id)]; }
  std::size_t memory() const noexcept;  // bytes
};

// The first byte of a special token within text: a byte that UTF-8 does not have.
inline constexpr unsigned char kSpecialByte = 0xff;
std::string special_bytes(text::TokenId token);

// Builds the network. kInvalidArgument if no text fits; kResourceExhausted and kCancelled are the meter's. `tokenizer`
// provides the special tokens; null: there are none.
Result<TransitionNetwork> build_network(const Grammar& grammar, const text::Tokenizer* tokenizer, WorkMeter& meter);

}  // namespace millrace::grammar
