#pragma once

#include "quant/k_quant.h"
#include "quant/rounding_fit.h"

// Super-blocks of K-quants with scales searched on both levels: the best scale of each sub-block, then the
// super-block's own scale by least squares over what it multiplies, then the sub-blocks' small integers beside it, in
// turns.

namespace millrace::quant {

// Rounds 256 values. `levels` is 16 (q4_k) or 32 (q5_k).
AffineSuperBlock search_affine(const WeightedValues& block, int levels) noexcept;
SignedSuperBlock search_signed(const WeightedValues& block) noexcept;  // q6_k

}  // namespace millrace::quant
