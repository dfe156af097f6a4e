#pragma once

#include <cstring>
#include <span>
#include <string_view>

#include "quant/block32.h"
#include "quant/format.h"

// Formats that no file holds. Readers of weights whose scales and zero points are separate tensors convert to them (see
// docs/quant.md). value = d * (q - 2^(bits - 1) - z). A block is d as f16, z as a signed byte if there are zero points,
// and the codes q of each 32 values: 16 bytes of nibbles as in q4_0, or 32 bytes.

namespace millrace::quant {

template <int kBits, int kValues, bool kZeroPoint>
struct GroupBlock {
  static_assert((kBits == 4 || kBits == 8) && kValues % kBlock32 == 0);
  static constexpr int kHead = kZeroPoint ? 3 : 2, kMiddle = 1 << (kBits - 1);
  static constexpr int kBytes32 = kBlock32 * kBits / 8, kBytes = kHead + kValues / kBlock32 * kBytes32;

  static int zero_point(const std::byte* block) noexcept {
    return kZeroPoint ? std::to_integer<std::int8_t>(block[2]) : 0;
  }
  // The codes of values [32 i, 32 i + 32).
  static void load_codes(const std::byte* block, int i, Codes32& codes) noexcept {
    const std::byte* at = block + kHead + i * kBytes32;
    if constexpr (kBits == 4) {
      load_nibbles(at, codes);
    } else {
      std::memcpy(codes.data(), at, codes.size());
    }
  }
  static void unpack(const std::byte* block, std::span<float> out) noexcept {
    const float d = load_half(block);
    const int zero = kMiddle + zero_point(block);
    Codes32 codes;
    for (int i = 0; i < kValues; ++i) {
      if (i % kBlock32 == 0) load_codes(block, i / kBlock32, codes);
      out[i] = d * static_cast<float>(codes[i % kBlock32] - zero);
    }
  }
  static void decompose(const std::byte* block, AffineBlock& out) noexcept {
    out.scale = load_bits(block);
    if constexpr (kZeroPoint) out.zero_point = std::to_integer<std::int8_t>(block[2]);
    Codes32 codes;
    for (int i = 0; i < kValues / kBlock32; ++i) {
      load_codes(block, i, codes);
      std::memcpy(out.codes + i * kBlock32, codes.data(), codes.size());
    }
  }
};

template <int kBits, int kValues, bool kZeroPoint>
QuantFormat group_format(std::string_view name) {
  using Block = GroupBlock<kBits, kValues, kZeroPoint>;
  return {
      .name = name,
      .gguf_type = -1,
      .safetensors_dtype = "",
      .block_values = kValues,
      .block_bytes = Block::kBytes,
      .unpack = unpack_blocks<Block::unpack, kValues, Block::kBytes>,
      .pack = nullptr,
      .max_relative_error = 0.0f,
      .affine = {.code_bits = kBits, .zero_points = kZeroPoint, .zero = Block::kMiddle, .decompose = Block::decompose}};
}

}  // namespace millrace::quant
