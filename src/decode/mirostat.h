#pragma once

#include <cstdint>

#include "decode/candidates.h"
#include "decode/sampling_params.h"

namespace millrace::decode {

// Mirostat's mu after `token` was chosen among the candidates `row`: it moves against the error of the token's surprise
// (arXiv:2007.14966, equation 9). Unchanged if the token is not in the row.
double mirostat_after(const SamplingParams& params, double mu, const Candidates& row, std::int32_t token);

}  // namespace millrace::decode
