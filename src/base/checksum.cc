#include "base/checksum.h"

#include <bit>
#include <cstring>

namespace millrace {
namespace {

// Odd, with half of their bits set: the golden ratio and the square root of two.
constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15, kOther = 0xB504F333F9DE6485;

std::uint64_t mix(std::uint64_t state, std::uint64_t word) noexcept {
  return std::rotl((state ^ word) * kMultiplier, 29);
}

std::uint64_t finish(std::uint64_t x) noexcept {
  x = (x ^ (x >> 32)) * kOther;
  x = (x ^ (x >> 29)) * kMultiplier;
  return x ^ (x >> 32);
}

}  // namespace

// Eight lanes, as a multiplication takes longer than a load.
std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
  constexpr std::size_t kLanes = 8;
  std::uint64_t lanes[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = seed + kOther * (i + 1);
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= sizeof(lanes); left -= sizeof(lanes), at += sizeof(lanes)) {
    std::uint64_t words[kLanes];
    std::memcpy(words, at, sizeof(words));
    for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = mix(lanes[i], words[i]);
  }
  std::uint64_t tail[kLanes] = {};
  if (left > 0) std::memcpy(tail, at, left);
  std::uint64_t state = finish(bytes.size() + seed);
  for (std::size_t i = 0; i < kLanes; ++i) state = finish(state ^ mix(lanes[i], tail[i])) + kMultiplier;
  return state;
}

}  // namespace millrace
