#pragma once

#include <cstdint>

#include "decode/candidates.h"
#include "decode/sampling_params.h"

namespace millrace::decode {

// Mirostat's one number after a token was chosen among `row`: mu moves against the error of the token's surprise
// (arXiv:2007.14966, equation 9). The same where the token is not in the row.
double mirostat_after(const SamplingParams& params, double mu, const Candidates& row, std::int32_t token);

}  // namespace millrace::decode
