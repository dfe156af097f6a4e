#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace millrace {

// Element type of dense data. Block-quantized storage is a quant::QuantFormat instead.
enum class DType : std::uint8_t { kF32, kF16, kBF16, kI32, kI8, kU8 };

constexpr std::size_t size_of(DType type) noexcept {
  switch (type) {
    case DType::kF32:
    case DType::kI32: return 4;
    case DType::kF16:
    case DType::kBF16: return 2;
    case DType::kI8:
    case DType::kU8: return 1;
  }
  return 0;
}

std::string_view to_string(DType type) noexcept;

// Conversions between float and the bits of bfloat16 or IEEE half. Narrowing rounds to nearest even, NaN stays NaN, and
// denormals are kept.
constexpr float bf16_to_f32(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

constexpr std::uint16_t f32_to_bf16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

constexpr float f16_to_f32(std::uint16_t bits) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  if (magnitude < 0x0400u) {  // zero or denormal: magnitude * 2^-24 is exact in f32
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
}

constexpr std::uint16_t f32_to_f16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);   // NaN
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds to infinity
  if (magnitude < 0x38800000u) {  // denormal: adding 0.5 puts the rounded value in the low mantissa bits
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t rounded = magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | (rounded >> 13));
}

// The number of type e4m3 with these bits (OCP 8-bit floating point, OFP8: no infinity; 0x7f and 0xff are NaN). Each is
// also a number of bf16 and of f16.
constexpr float e4m3_to_f32(std::uint8_t bits) noexcept {
  if ((bits & 0x7fu) == 0x7fu)
    return std::bit_cast<float>(0x7fc00000u | static_cast<std::uint32_t>(bits & 0x80u) << 24);
  const auto half = static_cast<std::uint16_t>((bits & 0x80u) << 8 | (bits & 0x7fu) << 7);
  return f16_to_f32(half) * 256.0f;
}

// To the nearest, ties to even; beyond 448 the largest, as there is no infinity. NaN stays NaN.
constexpr std::uint8_t f32_to_e4m3(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value), magnitude = bits & 0x7fffffffu;
  const auto sign = static_cast<std::uint8_t>(bits >> 24 & 0x80u);
  if (magnitude > 0x7f800000u) return static_cast<std::uint8_t>(sign | 0x7fu);
  if (magnitude >= 0x43e00000u) return static_cast<std::uint8_t>(sign | 0x7eu);  // 448
  if (magnitude < 0x3c800000u) {  // below 2^-6: adding 2^14 leaves multiples of 2^-9
    const float shifted = std::bit_cast<float>(magnitude) + 0x1p14f;
    return static_cast<std::uint8_t>(sign |
                                     (std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0x1p14f)));
  }
  const std::uint32_t rounded = magnitude - 0x3c000000u + 0x7ffffu + ((magnitude >> 20) & 1u);
  return static_cast<std::uint8_t>(sign | std::min<std::uint32_t>(rounded >> 20, 0x7eu));
}

// 2^(bits - 128), half of the number of type e8m0 (OCP Microscaling Formats) with these bits: 0 and 1 are denormal. The
// standard's NaN, 255, is 2^127 here, as it is for GGUF's and gpt-oss's own readers.
constexpr float half_e8m0_to_f32(std::uint8_t bits) noexcept {
  return std::bit_cast<float>(bits < 2 ? 0x00200000u << bits : (bits - 1u) << 23);
}

// Half of the number of type e4m3 (OCP 8-bit floating point) with these bits, without its sign. Its NaN, 127, is half
// of 480 here.
constexpr float half_e4m3_to_f32(std::uint8_t bits) noexcept {
  return f16_to_f32(static_cast<std::uint16_t>((bits & 0x7fu) << 7)) * 0x1p7f;  // f16 has a bias of 8 more
}

}  // namespace millrace
