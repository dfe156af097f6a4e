#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

// The form in which the attention kernels eat keys and values.

namespace millrace::backend::cpu {

// A tile is 32 tokens of one head, of P = geometry.padded_dim() dimensions; first the keys, then the values:
//   keys    [P/n][32][n]            n = 1 (f32, f16), 2 (bf16), 4 (i8: code + 128)
//   scales  f32[2][32]              i8 only: of the keys, of the values
//   values  [P/64][32/n][64][n]     strips of 64 dimensions, the last as wide as what is left
// so that a vector of 64 bytes is 16 tokens of n dimensions, or 16 dimensions of n tokens: what one instruction
// multiplies and adds up without a sum across lanes, and a tile is one linear stream in the order of reading.
inline constexpr std::int64_t kTileTokens = 32;
inline constexpr std::int64_t kStripDims = 64;

constexpr std::int64_t dot_values(DType type) noexcept {  // the n above
  return type == DType::kI8 ? 4 : type == DType::kBF16 ? 2 : 1;
}
constexpr std::size_t tile_part_bytes(DType type,
                                      std::int64_t padded_dim) noexcept {  // of keys, or of values, with scales
  return static_cast<std::size_t>(kTileTokens) *
         (static_cast<std::size_t>(padded_dim) * size_of(type) + (type == DType::kI8 ? sizeof(float) : 0));
}
constexpr std::size_t tile_values_at(DType type, std::int64_t padded_dim) noexcept {
  const std::size_t scales = type == DType::kI8 ? sizeof(float) : 0;
  return static_cast<std::size_t>(kTileTokens) * (static_cast<std::size_t>(padded_dim) * size_of(type) + 2 * scales);
}

// One token of one head in the page's type: P elements each; i8 keys with 128 added.
struct KvToken {
  const std::byte *key, *value;
  float key_scale, value_scale;  // i8 only
};
// The same token where a tile has it.
void write_to_tile(DType type, std::int64_t padded_dim, std::int64_t token, const KvToken& from,
                   std::byte* tile) noexcept;

// How much one step of the functions below moves of a token or a dimension; P elements are a multiple of it.
inline constexpr std::int64_t kPiece = 16;  // bytes
// The keys of a tile. Piece i of token t is at keys[t] + i * piece_stride.
void gather_keys(DType type, std::int64_t padded_dim, const std::byte* const* keys, std::int64_t piece_stride,
                 std::byte* tile) noexcept;
// The values of a tile, of which token t has P elements at values[t].
void gather_value_rows(DType type, std::int64_t padded_dim, const std::byte* const* values, std::byte* tile) noexcept;
// The values of a piece's tokens from `token` on: those of dimension d are at values + d * stride.
void gather_value_columns(DType type, std::int64_t padded_dim, const std::byte* values, std::int64_t stride,
                          std::int64_t token, std::byte* tile) noexcept;

}  // namespace millrace::backend::cpu
