#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace millrace::backend::cpu {

// Keys in groups of 64 dimensions, the last one maybe of 32, with unsigned codes: x = scale * code + minimum, both f16.
// Beside the elements of a token lie the scales of all groups, their minima, and of codes of 5 bits the fifth ones: a
// word of 16 bits for 16 dimensions each.
inline constexpr std::int64_t kKeyGroup = 64;
constexpr std::int64_t key_groups(std::int64_t padded_dim) noexcept { return (padded_dim + kKeyGroup - 1) / kKeyGroup; }

// Writes the codes of a head [padded_dim], 0 to `levels`, and scales and minima. False if a scale is NaN though x has
// only numbers.
bool encode_keys(const float* x, std::int64_t padded_dim, int levels, std::uint8_t* codes, std::byte* scales) noexcept;
void decode_keys(const std::uint8_t* codes, const std::byte* scales, std::int64_t padded_dim, float* x) noexcept;

// The fifth bits of codes, which they lose, and their way back.
void take_fifth_bits(std::uint8_t* codes, std::int64_t padded_dim, std::byte* to) noexcept;
void give_fifth_bits(const std::byte* from, std::int64_t padded_dim, std::uint8_t* codes) noexcept;

}  // namespace millrace::backend::cpu
