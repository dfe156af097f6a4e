#pragma once

#include <span>
#include <vector>

#include "base/cpu.h"
#include "decode/candidates.h"

namespace millrace::decode {

// exp(logit - largest) of each candidate, the sum returned. Eight lanes over blocks of 256, then over blocks: the same
// bits on every processor. `largest` is at least all logits.
double softmax_weights(const Candidates& candidates, float largest, std::vector<double>& weights);

// The entropy of the candidates' softmax, and its weights as above. 0 for one candidate.
double entropy_nats(const Candidates& candidates, std::vector<double>& weights);

// log of the sum of exp over a row of logits: what log p of each is below it. In lanes and blocks as above. NaN where a
// logit is, or where the largest is not finite.
double log_sum_exp(std::span<const float> logits);

// Over one block, for that instruction set or the best one below it.
using WeighBlock = double (*)(const float* logits, float largest, double* weights) noexcept;
WeighBlock weigh_block_kernel(Isa isa) noexcept;

}  // namespace millrace::decode
