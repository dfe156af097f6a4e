#pragma once

#include <memory>

#include "bench/kernel_op.h"

namespace millrace::bench {

// A packed weight of random values. 16 distinct rows repeat, as packing takes long and no kernel's time depends on the
// values. Throws LoadError (kInvalidArgument) naming --shape if a row is not a whole number of blocks of the format.
std::unique_ptr<backend::Linear> made_weight(const KernelContext& context, const quant::QuantFormat& format,
                                             const KernelSizes::Matrix& shape, backend::MatmulPrecision precision);

}  // namespace millrace::bench
