#pragma once

#include <cstdint>
#include <span>

#include "decode/verification.h"

namespace millrace::decode {

// Speculative sampling (arXiv:2302.01318, algorithm 2; arXiv:2211.17192, algorithm 1): a token sampled from q is taken
// with probability min(1, p / q), else one from the distribution proportional to max(p - q, 0) is. Its coin and its
// second sample have noise of their own. Without a drafted token: target.sample().
Result<Verdict> accept_or_resample(LogitsPipeline& target, std::span<const float> logits, std::int64_t position,
                                   const std::optional<DraftedToken>& drafted);

}  // namespace millrace::decode
