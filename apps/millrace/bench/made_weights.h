#pragma once

#include <memory>

#include "bench/kernel_op.h"

namespace millrace::bench {

// A packed weight of random values. Throws LoadError naming --shape if a row is not a multiple of the format's blocks.
std::unique_ptr<backend::Linear> made_weight(const KernelContext& context, const quant::QuantFormat& format,
                                             const KernelSizes::Matrix& shape, backend::MatmulPrecision precision);

}  // namespace millrace::bench
