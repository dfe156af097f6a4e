#pragma once

#include <cstdint>

#include "base/counter_rng.h"

namespace millrace::decode {

// The hash of a sequence of tokens with one token more; the empty sequence has hash 0. Not for keys that an adversary
// may choose.
constexpr std::uint64_t hash_with(std::uint64_t hash, std::int32_t token) noexcept {
  return rng::mix(hash + static_cast<std::uint32_t>(token) + 1);
}

}  // namespace millrace::decode
