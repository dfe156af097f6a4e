#pragma once

#include <span>
#include <vector>

#include "base/cpu.h"
#include "decode/candidates.h"

namespace millrace::decode {

// Writes exp(logit - largest) of each candidate to `weights` and returns their sum, in eight lanes over blocks of 256
// and then over blocks: the same bits on every processor. `largest` must be at least every logit.
double softmax_weights(const Candidates& candidates, float largest, std::vector<double>& weights);

// Returns the entropy of the candidates' softmax in nats, 0 for one candidate. Writes weights as softmax_weights()
// does.
double entropy_nats(const Candidates& candidates, std::vector<double>& weights);

// log of the sum of exp over a row of logits: a logit minus it is the token's log probability. The same bits on every
// processor. NaN if a logit is NaN or the largest is not finite.
double log_sum_exp(std::span<const float> logits);

// The kernel of softmax_weights() for one block, for that instruction set or the best one below it.
using WeighBlock = double (*)(const float* logits, float largest, double* weights) noexcept;
WeighBlock weigh_block_kernel(Isa isa) noexcept;

}  // namespace millrace::decode
