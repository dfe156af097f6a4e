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

// A grammar as a recursive transition network (Woods, CACM 13(10), 1970): of each rule a non-deterministic automaton
// whose edges read a byte or call a rule. There are no empty edges, every state lies on a way through its rule, every
// rule but the root reads at least a byte, and none calls itself before it has read one. Plain data.
struct TransitionNetwork {
  struct ByteEdge {
    std::uint8_t first, last;
    std::int32_t target;
  };
  struct CallEdge {
    std::int32_t rule, target;  // where it goes on once the rule is through
  };
  struct State {
    std::uint32_t bytes_begin = 0, calls_begin = 0;  // its edges end where those of the next state begin
    std::int32_t rule = 0;
    bool final = false;
    bool tail = false;  // final without edges: who is called here returns to the caller's caller
  };
  struct Rule {
    std::int32_t start = 0;
    bool unit = true;       // a rule of the grammar, not one that stands for a part of a rule
    std::int32_t rank = 0;  // larger than those of all rules that may call it before reading a byte
  };
  std::vector<State> states;  // and one more, for its edges' begins
  std::vector<ByteEdge> byte_edges;
  std::vector<CallEdge> call_edges;
  std::vector<Rule> rules;
  std::int32_t root = 0;
  std::array<std::uint8_t, 256> byte_class{};  // bytes that all edges treat alike
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

// How a special token stands among the bytes of the text: begins with a byte that no UTF-8 has.
inline constexpr unsigned char kSpecialByte = 0xff;
std::string special_bytes(text::TokenId token);

// kInvalidArgument where no text fits the grammar; kResourceExhausted, kCancelled: see WorkMeter. `tokenizer` knows the
// special tokens; null: there are none.
Result<TransitionNetwork> build_network(const Grammar& grammar, const text::Tokenizer* tokenizer, WorkMeter& meter);

}  // namespace millrace::grammar
