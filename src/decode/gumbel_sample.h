#pragma once

#include <cstdint>

#include "decode/candidates.h"

namespace millrace::decode {

// Samples a token from softmax(logits): the one with the largest sum of logit and Gumbel noise, which is a function of
// seed, position and token (Gumbel-max: Maddison et al., arXiv:1411.0030); of equal sums the lowest token. So the
// result does not depend on candidates that cannot win. There must be at least one candidate. Computes the noise, two
// logarithms, of few candidates only.
std::int32_t gumbel_sample(const Candidates& candidates, std::uint64_t seed, std::int64_t position) noexcept;

}  // namespace millrace::decode
