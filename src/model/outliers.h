#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "model/transformer.h"

namespace millrace::model {

// The names of the weights whose activations int8 rounding in groups of 32 represents too coarsely: a value far above
// the others of its group, as some channels of language models have (arXiv:2208.07339), leaves those only a few steps.
// Runs `tokens`, one sequence within the model's length, through the model, and counts for each weight the outputs that
// rounding changes. The result is the same on every machine and for every number of threads.
std::vector<std::string> find_outlier_weights(Transformer& model, std::span<const std::int32_t> tokens);

// limit of the share of a weight's outputs that rounding may change noticeably
inline constexpr double kMaxMoved = 0.25;

}  // namespace millrace::model
