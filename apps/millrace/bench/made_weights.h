#pragma once

#include <memory>

#include "bench/kernel_op.h"

namespace millrace::bench {

// A packed weight of made-up values. Throws LoadError naming --shape where rows are no whole blocks of the format.
std::unique_ptr<backend::Linear> made_weight(const KernelContext& context, const quant::QuantFormat& format,
                                             const KernelSizes::Matrix& shape, backend::MatmulPrecision precision);

}  // namespace millrace::bench
