#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"

// The form in which the attention kernels read keys and values.

namespace millrace::backend::cpu {

// A tile is 32 tokens of one head, first the keys, then the values. Keys have Pk and values Pv dimensions, padding
// included:
//   keys    [Pk/n][32][n]           n = 1 (f32, f16), 2 (bf16), 4 (i8: code + 128)
//   scales  f32[2][32]              i8 only: of the keys, of the values
//   values  [Pv/64][32/n][64][n]    strips of 64 dimensions, the last one narrower if Pv is no multiple
// A vector of 64 bytes thus holds 16 tokens of n dimensions, or 16 dimensions of n tokens, which one instruction
// multiplies and adds without a sum across lanes, and a tile is one linear stream in the order of reading.
inline constexpr std::int64_t kTileTokens = 32;
inline constexpr std::int64_t kStripDims = 64;

constexpr std::int64_t dot_values(DType type) noexcept {  // the n of the tile's shapes
  return type == DType::kI8 ? 4 : type == DType::kBF16 ? 2 : 1;
}
struct TileForm {
  DType type = DType::kBF16;
  std::int64_t key_dim = 0, value_dim = 0;  // Pk, Pv

  constexpr std::size_t scales_at() const noexcept {  // offset in bytes, as for all functions here
    return static_cast<std::size_t>(kTileTokens * key_dim) * size_of(type);
  }
  constexpr std::size_t values_at() const noexcept { return bytes_of(key_dim); }
  constexpr std::size_t bytes() const noexcept { return bytes_of(key_dim + value_dim); }

 private:
  constexpr std::size_t bytes_of(std::int64_t dims) const noexcept {  // of a tile of so many, with the scales
    const std::size_t scales = type == DType::kI8 ? 2 * sizeof(float) : 0;
    return static_cast<std::size_t>(kTileTokens) * (static_cast<std::size_t>(dims) * size_of(type) + scales);
  }
};

// One token of one head in the page's type: Pk and Pv elements; i8 keys have 128 added.
struct KvToken {
  const std::byte *key, *value;
  float key_scale, value_scale;  // i8 only
};
// Writes the token to its place in a tile.
void write_to_tile(const TileForm& form, std::int64_t token, const KvToken& from, std::byte* tile) noexcept;

// Bytes of one token or one dimension that the functions below move in one step; Pk and Pv elements are multiples of
// it.
inline constexpr std::int64_t kPiece = 16;  // bytes
// Writes the keys of a tile; padded_dim is Pk. Piece i of token t is at keys[t] + i * piece_stride.
void gather_keys(DType type, std::int64_t padded_dim, const std::byte* const* keys, std::int64_t piece_stride,
                 std::byte* tile) noexcept;
// Writes the values of a tile; padded_dim is Pv and `to` the tile's values_at(). The Pv elements of token t are at
// values[t].
void gather_value_rows(DType type, std::int64_t padded_dim, const std::byte* const* values, std::byte* to) noexcept;
// Writes the values of one piece of tokens from `token` on, with padded_dim and `to` as for gather_value_rows(). Those
// of dimension d are at values + d * stride.
void gather_value_columns(DType type, std::int64_t padded_dim, const std::byte* values, std::int64_t stride,
                          std::int64_t token, std::byte* to) noexcept;

}  // namespace millrace::backend::cpu
