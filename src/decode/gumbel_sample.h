#pragma once

#include <cstdint>

#include "decode/candidates.h"

namespace millrace::decode {

// The token with the largest logit + Gumbel noise of (seed, position, token), the lowest among equals: a sample from
// softmax(logits), and the same one whatever else is a candidate (Gumbel-max: Maddison et al., arXiv:1411.0030). There
// is at least one candidate. Two logarithms for each were most of sampling; here few candidates need them.
std::int32_t gumbel_sample(const Candidates& candidates, std::uint64_t seed, std::int64_t position) noexcept;

}  // namespace millrace::decode
