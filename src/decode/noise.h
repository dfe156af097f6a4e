#pragma once

#include <cmath>
#include <cstdint>

namespace millrace::decode {

// Random numbers that are a function of where they are used, not of how many were drawn before: the same request gets
// the same token at the same position however it was batched, preempted or speculated (law 3).

constexpr std::uint64_t mix(std::uint64_t x) noexcept {  // the finaliser of SplitMix64 (doi:10.1145/2714064.2660195)
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Uniform in (0, 1), never 0 or 1.
constexpr double uniform(std::uint64_t seed, std::uint64_t position, std::uint64_t token) noexcept {
  const std::uint64_t bits = mix(mix(mix(seed + 0x9e3779b97f4a7c15ull) + position) + token);
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}

// Gumbel noise: argmax over tokens of logit + gumbel is a draw from softmax(logits).
inline double gumbel(std::uint64_t seed, std::uint64_t position, std::uint64_t token) noexcept {
  return -std::log(-std::log(uniform(seed, position, token)));
}

}  // namespace millrace::decode
