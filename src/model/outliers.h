#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "model/transformer.h"

namespace millrace::model {

// The weights whose activations int8 rounding in groups of 32 is too coarse for: a value far above its neighbours, as
// some channels of language models have (arXiv:2208.07339), leaves them only a few steps. Runs `tokens` (one sequence,
// within the model's length) through the model and counts, weight by weight, what the rounding changes. The answer is
// the same on every machine and with every number of threads.
std::vector<std::string> find_outlier_weights(Transformer& model, backend::Backend& backend,
                                              std::span<const std::int32_t> tokens);

// The share of a weight's outputs that may be changed noticeably by the rounding of its activations.
inline constexpr double kMaxMoved = 0.25;

}  // namespace millrace::model
