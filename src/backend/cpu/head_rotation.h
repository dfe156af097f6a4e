#pragma once

#include <cstdint>

namespace millrace::backend::cpu {

// Multiplies x [padded_dim] with a fixed orthogonal matrix that spreads each channel over many: Hadamard matrices of
// the largest power of two that divides padded_dim (Ashkboos et al., QuaRot, arXiv:2404.00456). It is its own inverse,
// and products of two rotated heads are those of the heads. Only sums and one product: the same bits everywhere.
void rotate_head(float* x, std::int64_t padded_dim) noexcept;

}  // namespace millrace::backend::cpu
