#pragma once

#include <cstddef>
#include <cstdint>

// The form in which the attention kernels read keys and values.

namespace millrace::backend::cpu {

// A tile is 32 tokens of one head, first the keys, then the values. A token has so many columns of keys and of values,
// elements of 1, 2 or 4 bytes that hold the dimensions, padding included, as its encoding says:
//   keys    [key_columns/n][32][n]                n = `together`
//   scales  [key_scales][32], [value_scales][32]  what an encoding has beside a token's elements
//   values  [value_columns/s][32/n][s][n]         strips of s columns, the last one narrower if there are no multiple
// A vector of 64 bytes thus holds several tokens of n columns, or several columns of n tokens, which one instruction
// multiplies and adds without a sum across lanes, and a tile is one linear stream in the order of reading.
inline constexpr std::int64_t kTileTokens = 32;
inline constexpr std::int64_t kStripDims = 64;

struct TileForm {
  std::int64_t element = 2;  // bytes
  std::int64_t together = 2;
  std::int64_t key_columns = 0, value_columns = 0;  // multiples of kPiece bytes
  std::int64_t strip = kStripDims;
  std::int64_t key_scales = 0, value_scales = 0, scale_bytes = 0;  // numbers of a token, and the bytes of one

  // Offsets and sizes in bytes.
  constexpr std::int64_t key_bytes() const noexcept { return key_columns * element; }  // of a token
  constexpr std::int64_t value_bytes() const noexcept { return value_columns * element; }
  constexpr std::int64_t token_bytes() const noexcept {
    return key_bytes() + value_bytes() + (key_scales + value_scales) * scale_bytes;
  }
  constexpr std::size_t scales_at() const noexcept { return static_cast<std::size_t>(kTileTokens * key_bytes()); }
  constexpr std::size_t values_at() const noexcept {
    return static_cast<std::size_t>(kTileTokens * (token_bytes() - value_bytes()));
  }
  constexpr std::size_t bytes() const noexcept { return static_cast<std::size_t>(kTileTokens * token_bytes()); }
};

// One token of one head: its elements, and its scales one behind the other.
struct KvToken {
  const std::byte *key, *value;
  const std::byte *key_scales, *value_scales;
};
// Writes the token to its place in a tile.
void write_to_tile(const TileForm& form, std::int64_t token, const KvToken& from, std::byte* tile) noexcept;

// Bytes of one token or one column that the functions below move in one step.
inline constexpr std::int64_t kPiece = 16;  // bytes
// Writes the keys of a tile. Piece i of token t is at keys[t] + i * piece_stride.
void gather_keys(const TileForm& form, const std::byte* const* keys, std::int64_t piece_stride,
                 std::byte* tile) noexcept;
// Writes the values of a tile. Those of token t are at values[t].
void gather_value_rows(const TileForm& form, const std::byte* const* values, std::byte* tile) noexcept;
// Writes the values of one piece of tokens from `token` on. Those of column c are at values + c * stride.
void gather_value_columns(const TileForm& form, const std::byte* values, std::int64_t stride, std::int64_t token,
                          std::byte* tile) noexcept;

}  // namespace millrace::backend::cpu
