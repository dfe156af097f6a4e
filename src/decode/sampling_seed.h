#pragma once

#include <cstdint>

#include "base/counter_rng.h"

namespace millrace::decode {

// Draws at one position that must not depend on each other have seeds of their own.
enum class Purpose : std::uint64_t {
  kToken = 0,     // the sample of the token itself
  kXtc = 1,       // whether the likeliest tokens are excluded
  kAccept = 2,    // whether a drafted token is taken
  kResidual = 3,  // the token in its place
};
constexpr std::uint64_t seed_for(Purpose purpose, std::uint64_t seed) noexcept {
  return purpose == Purpose::kToken ? seed
                                    : rng::mix(seed ^ (static_cast<std::uint64_t>(purpose) * 0xd1b54a32d192ed03ull));
}

}  // namespace millrace::decode
