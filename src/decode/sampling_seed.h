#pragma once

#include <cstdint>

#include "base/counter_rng.h"

namespace millrace::decode {

// Kinds of random decisions. Decisions at one position that must be independent use seeds of different purposes.
enum class Purpose : std::uint64_t {
  kToken = 0,     // the sample of the token itself
  kXtc = 1,       // whether XTC removes the likeliest tokens
  kAccept = 2,    // whether a draft token is accepted
  kResidual = 3,  // the token that replaces a rejected draft token
};
constexpr std::uint64_t seed_for(Purpose purpose, std::uint64_t seed) noexcept {
  return purpose == Purpose::kToken ? seed
                                    : rng::mix(seed ^ (static_cast<std::uint64_t>(purpose) * 0xd1b54a32d192ed03ull));
}

}  // namespace millrace::decode
