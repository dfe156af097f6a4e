#pragma once

#include <cstddef>
#include <span>

#include "quant/format.h"

namespace millrace::quant {

// Rounds whole blocks as QuantFormat::pack does, but with the scale of each block, and its minimum, searched for the
// least squared error, where the format's own rule takes them from the extremes: q4_0, int4_gN and its like, nf4,
// mxfp4. Other formats are packed as ever: K-quants search already, and 8 bits leave nothing to find. For finite input.
// About ten times the cost of pack().
void pack_searched(const QuantFormat& format, std::span<const float> in, std::byte* blocks);

}  // namespace millrace::quant
