#pragma once

#include <cstdint>
#include <span>

#include "decode/verification.h"

namespace millrace::decode {

// Speculative sampling (arXiv:2302.01318, algorithm 2; arXiv:2211.17192, algorithm 1). A draft token sampled from q is
// accepted with probability min(1, p / q); else the token is sampled from the distribution proportional to max(p - q,
// 0). Both decisions use random numbers of their own (Purpose). Without a draft token it is target.sample().
Result<Verdict> accept_or_resample(LogitsPipeline& target, std::span<const float> logits, std::int64_t position,
                                   const std::optional<DraftedToken>& drafted);

}  // namespace millrace::decode
