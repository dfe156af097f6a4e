#pragma once

#include <cstddef>
#include <span>

#include "quant/format.h"

namespace millrace::quant {

// Rounds whole blocks as QuantFormat::pack does, but with the scale of each block, and its minimum, searched for the
// least weighted squared error: where other formats take them from the extremes, and K-quants from one search. Formats
// of 8 bits and those that no search is written for are packed as ever. For finite input.
//   importance  for each value of `in`, how much an error there counts: the mean square of the input that it is
//               multiplied with (an importance matrix). Finite, not negative. Empty: nothing is known of the inputs.
// A block whose importance is 0 throughout is rounded as if there were none. Pure and thread-safe.
void pack_searched(const QuantFormat& format, std::span<const float> in, std::span<const float> importance,
                   std::byte* blocks);

}  // namespace millrace::quant
