#pragma once

#include <span>

namespace millrace::model {

// The length of one row of W + scale * B A (DoRA, arXiv:2402.09353): `base` is that row of W [k], `b` that of B [rank],
// and `a` is A [rank, k].
double dora_row_length(std::span<const float> base, std::span<const float> a, std::span<const float> b,
                       double scale) noexcept;

}  // namespace millrace::model
