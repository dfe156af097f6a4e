#pragma once

#include <cstdint>

#include "base/portable_math.h"

namespace millrace::rng {

// Random numbers that are functions of seed, position and token, not of how many were drawn before: a request gets the
// same token at the same position however it was batched, preempted or speculated (law 3 of the architecture).

constexpr std::uint64_t mix(std::uint64_t x) noexcept {  // the finaliser of SplitMix64 (doi:10.1145/2714064.2660195)
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// The stream of a position. random_bits() of a stream and a token returns 53 random bits.
constexpr std::uint64_t random_stream(std::uint64_t seed, std::uint64_t position) noexcept {
  return mix(mix(seed + 0x9e3779b97f4a7c15ull) + position);
}
constexpr std::uint64_t random_bits(std::uint64_t stream, std::uint64_t token) noexcept {
  return mix(stream + token) >> 11;
}
// Uniform in (0, 1), never 0 or 1.
constexpr double uniform(std::uint64_t bits) noexcept {
  const double x = (static_cast<double>(bits) + 0.5) * 0x1p-53;
  return x < 1.0 ? x : 1.0 - 0x1p-53;  // the largest of them rounds up
}
constexpr double uniform(std::uint64_t seed, std::uint64_t position, std::uint64_t token) noexcept {
  return uniform(random_bits(random_stream(seed, position), token));
}

// Gumbel noise: the argmax over tokens of logit + gumbel is a sample from softmax(logits).
inline double gumbel(double uniform) noexcept { return -portable_log(-portable_log(uniform)); }

}  // namespace millrace::rng
