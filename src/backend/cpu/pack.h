#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "backend/cpu/kernels.h"

// The layout of weights in memory for the CPU kernels: panels of 16 output rows, the same for every instruction set.

namespace millrace::backend::cpu {

// f32 and f16 panels are [k][16]; bf16 panels are [k/2][16][2], with adjacent pairs of k, as vdpbf16ps needs them.
std::size_t dense_panel_bytes(const quant::QuantFormat& format, std::int64_t k);
void pack_dense(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k, std::byte* panel);
void unpack_dense_row(const quant::QuantFormat& format, const std::byte* panel, int row, std::int64_t k, float* out);

// Panels of any format, rounded to bf16 and laid out like bf16.
std::size_t rounded_panel_bytes(const quant::QuantFormat& format, std::int64_t k);
void pack_rounded(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k,
                  std::byte* panel);
void unpack_rounded_row(const quant::QuantFormat& format, const std::byte* panel, int row, std::int64_t k, float* out);

// Panels of sixteen rows as stored, one after the other.
std::size_t raw_panel_bytes(const quant::QuantFormat& format, std::int64_t k);
void pack_raw(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k, std::byte* panel);
void unpack_raw_row(const quant::QuantFormat& format, const std::byte* panel, int row, std::int64_t k, float* out);

// The name of kernels of compact panels.
inline constexpr std::string_view kCompactKernel = "int8_compact";
// Compact panels (compact_panel.h), of formats that quant::find_grid() has. raw_panel_bytes() is their size.
void pack_compact(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k,
                  std::byte* panel);
void unpack_compact_row(const quant::QuantFormat& format, const std::byte* panel, int row, std::int64_t k, float* out);
// Such a panel laid out like that of an AffineForm with codes of 8 bits: level + quant::kLevelZero.
std::size_t expanded_panel_bytes(const quant::QuantFormat& format, std::int64_t k);
// Panels of int8_row: [scale f32 x 16], then bytes as below.
std::size_t row_scaled_panel_bytes(const quant::QuantFormat& format, std::int64_t k);
void pack_row_scaled(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k,
                     std::byte* panel);
void unpack_row_scaled_row(const quant::QuantFormat& format, const std::byte* panel, int row, std::int64_t k,
                           float* out);

// Panels of int8_16: for each block [scale bf16 x 16][k 16 / 2][row 16][2].
std::size_t int8_16_panel_bytes(const quant::QuantFormat& format, std::int64_t k);
void pack_int8_16(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k,
                  std::byte* panel);
void unpack_int8_16_row(const quant::QuantFormat& format, const std::byte* panel, int row, std::int64_t k, float* out);

// Panels of groups of e4m3 numbers (quant/group_format.h): for each group [scale f32 x 16], then the numbers like bf16:
// [k/2][16][2].
std::size_t float8_panel_bytes(const quant::QuantFormat& format, std::int64_t k);
void pack_float8(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k, std::byte* panel);
void unpack_float8_row(const quant::QuantFormat& format, const std::byte* panel, int row, std::int64_t k, float* out);

// Panels of a format with an AffineForm: one sequence of bytes per block, in the order in which kernels read them:
//   [scale x 16][min x 16]                of the block, for 16 rows; each is f16, `number`, or a byte if it is e8m0, or
//                                         absent
//   or [scale x 16][int8 zero point x 16]
//   for each group of 32 values, if scales are products or e4m3:
//   [sub-scales][sub-mins]                a byte for each of 16 rows, 16 bytes for each scale group
//   [codes]
// With a scale group of 16 and mins (q2_k) the sub-min is the upper nibble of its sub-scale's byte.
// A vector of codes is 64 bytes: byte 4r + i belongs to row r and value 4j + i of the group ("quad" j). Codes of
//   8 bits: vector j is quad j;
//   4 bits: vector j of 4 has quad j in its low nibbles and quad j + 4 in the high ones;
//   2 bits: vector v of 2 has quad 4v + f in bits 2f, 2f + 1;
//   1 bit: one vector whose bit j is quad j;
//   3 bits: vector v of 3 has quads 2v and 2v + 1 in bits 0 to 2 and 3 to 5; bits 6 and 7 of the first two are the low
//           bits of quads 6 and 7, and of the last one bit 6 and 7 their top bits;
//   5 bits: as 4, then one vector whose bit j is the top bit of quad j;
//   6 bits: as 4, then two vectors as of 2 bits with the top two bits.
constexpr bool has_sub_scales(const quant::AffineForm& form) noexcept {
  return form.scales == quant::AffineForm::Scales::kProduct || form.scales == quant::AffineForm::Scales::kE4m3;
}
constexpr int scale_bytes(quant::AffineForm::Scales scales, DType number = DType::kF16) noexcept {
  using Scales = quant::AffineForm::Scales;
  return scales == Scales::kE4m3 ? 0 : scales == Scales::kE8m0 ? 1 : static_cast<int>(size_of(number));
}
// Bytes of a block's scales and of its mins or zero points, for 16 rows.
constexpr std::size_t header_bytes(const quant::AffineForm& form) noexcept {
  const int scale = scale_bytes(form.scales, form.number);
  const int bytes_of_row = scale + (form.has_min ? scale : 0) + (form.zero_points ? 1 : 0);
  return static_cast<std::size_t>(kPanelRows) * static_cast<std::size_t>(bytes_of_row);
}
// Bytes of a group's sub-scales and sub-mins, for 16 rows.
constexpr std::size_t sub_scale_bytes(const quant::AffineForm& form) noexcept {
  if (!has_sub_scales(form)) return 0;
  return static_cast<std::size_t>(kPanelRows * (kGroup / form.scale_group)) *
         (form.has_min && form.scale_group == kGroup ? 2 : 1);
}
constexpr std::size_t code_bytes(const quant::AffineForm& form) noexcept {
  return static_cast<std::size_t>(kPanelRows * kGroup * form.code_bits / 8);
}
constexpr std::size_t group_bytes(const quant::AffineForm& form) noexcept {
  return sub_scale_bytes(form) + code_bytes(form);
}
std::size_t affine_panel_bytes(const quant::QuantFormat& format, std::int64_t k);
void pack_affine(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k, std::byte* panel);
void unpack_affine_row(const quant::QuantFormat& format, const std::byte* panel, int row, std::int64_t k, float* out);

}  // namespace millrace::backend::cpu
