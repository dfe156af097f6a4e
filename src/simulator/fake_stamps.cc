#include "simulator/fake_stamps.h"

#include <bit>

#include "base/counter_rng.h"

namespace millrace::simulator {

using rng::mix;

Stamp stamp_of(std::int32_t token, std::int64_t position, std::uint64_t adapters) noexcept {
  return (mix(mix(static_cast<std::uint64_t>(token) + 1) + static_cast<std::uint64_t>(position)) ^ adapters) | 1;
}

std::uint64_t add_adapter(std::uint64_t adapters, const std::string& key, float scale) noexcept {
  adapters = mix(adapters + std::bit_cast<std::uint32_t>(scale) + 1);
  for (const char c : key) adapters = mix(adapters + static_cast<unsigned char>(c));
  return adapters;
}

std::uint64_t adapter_stamp(std::span<const engine::AdapterUse> adapters) noexcept {
  std::uint64_t stamp = 0;
  for (const engine::AdapterUse& use : adapters) stamp = add_adapter(stamp, use.key, use.scale);
  return stamp;
}

std::uint64_t weight_of(std::int64_t position) noexcept {
  return (static_cast<std::uint64_t>(position) + 1) * 0x9e3779b97f4a7c15ull | 1;
}

std::uint64_t window_weight_of(std::int64_t position) noexcept {
  return (static_cast<std::uint64_t>(position) + 1) * 0xd1342543de82ef95ull | 1;
}

void write_values(std::uint64_t state, std::span<float> values) noexcept {
  for (std::size_t v = 0; v < values.size(); ++v) {
    values[v] = static_cast<float>(mix(state + v) >> 40) * 0x1p-21f;  // [0, 8)
  }
}

void FakeText::append(std::int32_t token) noexcept {
  state_ += kReaders * stamp_of(token, length_, adapters_) * weight_of(length_);
  ++length_;
}

void FakeText::logits(std::span<float> logits) const noexcept { write_values(state_, logits); }

std::vector<float> fake_logits(std::span<const std::int32_t> tokens, std::int64_t vocab_size) {
  FakeText text;
  for (const std::int32_t token : tokens) text.append(token);
  std::vector<float> logits(static_cast<std::size_t>(vocab_size));
  text.logits(logits);
  return logits;
}

}  // namespace millrace::simulator
