#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/dtype.h"

namespace millrace::quant {

// One block of a format with an AffineForm, decoded: integers, and the scale and min as stored.
struct AffineBlock {
  std::uint8_t codes[256];           // in the order of the values
  std::uint32_t scale = 0, min = 0;  // bits: the scale's as AffineForm::Scales says, the min's of f16 or `number`
  std::int8_t zero_point = 0;        // added to AffineForm::zero; only with zero_points
  std::int8_t sub_scales[16];        // one for each scale_group values; only with Scales::kProduct and kE4m3
  std::uint8_t sub_mins[16];
};

// The number of an f16, bf16 or f32 that these bits are.
constexpr float stored_number(DType type, std::uint32_t bits) noexcept {
  if (type == DType::kF32) return std::bit_cast<float>(bits);
  const auto half = static_cast<std::uint16_t>(bits);
  return type == DType::kBF16 ? bf16_to_f32(half) : f16_to_f32(half);
}

// Kernels multiply levels that are no integers as multiples of this.
inline constexpr float kLevelUnit = 1.0f / 127.0f;

// An integer view of a block format: value = scale * (code - zero) + min, or scale * (code - zero - zero_point), bit
// for bit what the format's unpack computes. Kernels multiply codes with integer activations, and apply scales
// afterwards.
struct AffineForm {
  enum class Scales : std::uint8_t {
    kHalf,  // the block's f16 scale and min
    // The block's f16 numbers times a small integer for each scale_group: scale * sub_scale and -(min * sub_min).
    kProduct,
    kE8m0,    // one byte, 2^(byte - 128): half of an e8m0 number, as levels are e2m1 numbers doubled
    kE4m3,    // one byte for each scale_group values: half of an unsigned e4m3 number, for such levels too
    kNumber,  // the block's scale and min as `number`: formats of any block size, which share kernels (group_format.h)
  };
  // 1, 2, 3, 4, 5, 6 or 8: codes are below 2^code_bits; 0 = the format has no such form. The codes of one bit mean -1
  // and 1; `zero` is 1 then.
  int code_bits = 0;
  Scales scales = Scales::kHalf;
  DType number = DType::kF16;  // kF16, kBF16 or kF32; only with kNumber
  int scale_group = 32;        // values that share a scale: 16 or 32; with kNumber all of a block do
  bool has_min = false;
  bool zero_points = false;  // each block has an int8 zero point; only with kNumber and without has_min
  int zero = 0;              // 0 or a power of two
  int scale_exponent = 0;    // the block's scale is 2^scale_exponent times its number; only of f16, without mins
  // If set, 16 integers (those of no code may be anything of a smaller magnitude) with value = scale * levels[code];
  // `zero` then is above all their magnitudes, and kernels multiply level + zero: the smaller, the faster.
  const std::int8_t* levels = nullptr;
  // With kNumber, the 16 numbers that `levels` times kLevelUnit come near: value = scale * exact_levels[code].
  const float* exact_levels = nullptr;
  // Sets the fields that the form has; the others stay.
  void (*decompose)(const std::byte* block, AffineBlock& out) noexcept = nullptr;

  // The number that the block's scale bits are.
  float block_scale(const AffineBlock& block) const noexcept {
    if (scales == Scales::kE8m0) return half_e8m0_to_f32(static_cast<std::uint8_t>(block.scale));
    return stored_number(number, block.scale) * std::ldexp(1.0f, scale_exponent);
  }
  // The scale of the values of scale group s of the block.
  float scale(const AffineBlock& block, int s) const noexcept {
    if (scales == Scales::kE4m3) return half_e4m3_to_f32(static_cast<std::uint8_t>(block.sub_scales[s]));
    return scales == Scales::kProduct ? block_scale(block) * static_cast<float>(block.sub_scales[s])
                                      : block_scale(block);
  }
  float min(const AffineBlock& block, int s) const noexcept {
    if (!has_min) return 0.0f;
    const float stored = stored_number(number, block.min);
    return scales == Scales::kProduct ? -(stored * static_cast<float>(block.sub_mins[s])) : stored;
  }
  // Value i of the block.
  float value(const AffineBlock& block, int i) const noexcept {
    const std::uint8_t code = block.codes[i];
    const int s = scales == Scales::kNumber ? 0 : i / scale_group;
    if (exact_levels != nullptr) return block_scale(block) * exact_levels[code];
    if (zero_points) return block_scale(block) * static_cast<float>(steps(code) - block.zero_point);
    const float value = scale(block, s) * static_cast<float>(steps(code));
    return has_min ? value + min(block, s) : value;
  }
  // The integer that the scale multiplies.
  int steps(std::uint8_t code) const noexcept {
    if (code_bits == 1) return 2 * code - 1;
    return levels != nullptr ? levels[code] : code - zero;
  }
};

// One way of storing a weight's values: each block of `block_values` consecutive values of a row takes `block_bytes`
// bytes. Dense types (f32, f16, bf16) have one value per block. Independent of devices. Each format is a file in
// formats/ (see docs/quant.md).
struct QuantFormat {
  std::string_view name;               // "q4_k": lower case, as printed and as typed by users
  int gguf_type;                       // ggml type id in GGUF files, -1 if GGUF has none
  std::string_view safetensors_dtype;  // "BF16"; empty if safetensors has none
  int block_values;                    // divides the length of every row
  int block_bytes;
  // The exact scalar reference. Takes whole blocks: out.size() must be a multiple of block_values. Accepts any bytes.
  void (*unpack)(const std::byte* blocks, std::span<float> out) noexcept;
  // Rounds as the reference quantizers of GGUF do; null = the format is read-only. For finite input only.
  void (*pack)(std::span<const float> in, std::byte* blocks) noexcept;
  // Upper bound of max|x - unpack(pack(x))| / max|x| within one block; a test enforces it.
  float max_relative_error;
  AffineForm affine{};
  // All blocks of a row have the same scale, an f32 at the beginning of each, which is packed once: pack() takes a row.
  bool row_scaled = false;

  constexpr std::size_t row_bytes(std::int64_t values) const noexcept {
    return static_cast<std::size_t>(values / block_values) * static_cast<std::size_t>(block_bytes);
  }
  constexpr double bits_per_value() const noexcept { return 8.0 * (block_bytes - (row_scaled ? 4 : 0)) / block_values; }
};

// Loops over whole blocks, for formats that define functions for one block.
template <auto kUnpackBlock, int kValues, int kBytes>
void unpack_blocks(const std::byte* blocks, std::span<float> out) noexcept {
  for (; !out.empty(); out = out.subspan(kValues), blocks += kBytes) kUnpackBlock(blocks, out.first(kValues));
}
template <auto kPackBlock, int kValues, int kBytes>
void pack_blocks(std::span<const float> in, std::byte* blocks) noexcept {
  for (; !in.empty(); in = in.subspan(kValues), blocks += kBytes) kPackBlock(in.first(kValues), blocks);
}

// Every format of formats/, sorted by file name (generated by CMake).
std::span<const QuantFormat> all_formats();

// The format; null if there is none. find_any_format() of group_format.h finds those too that no file holds.
const QuantFormat* find_format(std::string_view name) noexcept;
const QuantFormat* find_gguf_type(std::uint32_t type) noexcept;
const QuantFormat* find_safetensors_dtype(std::string_view dtype) noexcept;

}  // namespace millrace::quant
