#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "backend/cpu/kernels.h"

// How weights lie in memory for the CPU kernels: panels of 16 output rows, the same for every instruction set.

namespace millrace::backend::cpu {

// f32 and f16: [k][16]. bf16: [k/2][16][2], pairs of k beside each other, as vdpbf16ps wants them.
std::size_t dense_panel_bytes(const quant::QuantFormat& format, std::int64_t k);
void pack_dense(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k, std::byte* panel);
void unpack_dense_row(const quant::QuantFormat& format, const std::byte* panel, int row, std::int64_t k, float* out);

// Sixteen rows as stored, one after the other.
std::size_t raw_panel_bytes(const quant::QuantFormat& format, std::int64_t k);
void pack_raw(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k, std::byte* panel);
void unpack_raw_row(const quant::QuantFormat& format, const std::byte* panel, int row, std::int64_t k, float* out);

// A format with an AffineForm: a group of 32 values of 16 rows is one run of bytes:
//   [scales: 16 per scale group][mins: likewise, if any][codes]
// codes of 8 bits: 8 vectors of 64 bytes; vector j byte 4r+i is k = 4j+i of row r ("N16K4").
// codes of 4 bits: 4 vectors; vector j holds k-quad j in the low nibbles and k-quad j+4 in the high ones ("N16K8").
constexpr std::size_t scale_bytes(const quant::AffineForm& form) noexcept {
  return static_cast<std::size_t>(kPanelRows * (kGroup / form.scale_group) * (form.wide_scale ? 4 : 2));
}
constexpr std::size_t group_bytes(const quant::AffineForm& form) noexcept {
  return scale_bytes(form) * (form.has_min ? 2 : 1) +
         static_cast<std::size_t>(kPanelRows * kGroup * form.code_bits / 8);
}
std::size_t affine_panel_bytes(const quant::QuantFormat& format, std::int64_t k);
void pack_affine(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k, std::byte* panel);
void unpack_affine_row(const quant::QuantFormat& format, const std::byte* panel, int row, std::int64_t k, float* out);

}  // namespace millrace::backend::cpu
