#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/request.h"

namespace millrace::simulator {

// What the fake model has in place of keys and values: a hash of a token, its position and its sequence's adapters.
using Stamp = std::uint64_t;
inline constexpr Stamp kSpoiled = 0;  // no token's
Stamp stamp_of(std::int32_t token, std::int64_t position, std::uint64_t adapters) noexcept;

// What adapters change of all stamps of a sequence: a hash of their contents and scales; 0: there are none.
std::uint64_t add_adapter(std::uint64_t adapters, const std::string& key, float scale) noexcept;
std::uint64_t adapter_stamp(std::span<const engine::AdapterUse> adapters) noexcept;

// A row's state is the sum of the stamps that it sees, each times this, modulo 2^64: the same stamps elsewhere are
// another text. Parts of stamps add up to the state of the whole, wherever they are.
std::uint64_t weight_of(std::int64_t position) noexcept;
// The same of what a window page holds more than the other page.
std::uint64_t window_weight_of(std::int64_t position) noexcept;
// Query heads that read each byte of a stamp: its share of the state counts so often (fake_heads.h).
inline constexpr std::uint64_t kReaders = 2;

// A state as numbers: logits, or a final hidden state.
void write_values(std::uint64_t state, std::span<float> values) noexcept;

// The fake model's logits of a text, computed token by token without pages: the reference for every answer of a
// simulation.
class FakeText {
 public:
  explicit FakeText(std::uint64_t adapters = 0) : adapters_(adapters) {}  // adapter_stamp()
  void append(std::int32_t token) noexcept;
  void logits(std::span<float> logits) const noexcept;

 private:
  std::uint64_t adapters_, state_ = 0;
  std::int64_t length_ = 0;
};
std::vector<float> fake_logits(std::span<const std::int32_t> tokens, std::int64_t vocab_size);

}  // namespace millrace::simulator
