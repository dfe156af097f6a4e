#include "quant/format.h"
#include "quant/k_quant.h"

namespace millrace::quant::formats {
namespace {

// As q4_k with a fifth bit: f16 d, f16 dmin, 12 bytes of scales and minima, 32 bytes whose bit s is the fifth bit of
// sub-block s, 128 bytes of nibbles.
constexpr int kBytes = 176;

void unpack_block(const std::byte* block, std::span<float> out) noexcept {
  AffineSuperBlock values{
      .d = load_half(block), .dmin = load_half(block + 2), .sub = load_scales_and_minima(block + 4)};
  for (int i = 0; i < kSuperBlock; ++i) {
    const int byte = std::to_integer<int>(block[48 + i / 64 * 32 + i % 32]);
    const int fifth = std::to_integer<int>(block[16 + i % 32]) >> (i / 32) & 1;
    values.codes[i] = static_cast<std::uint8_t>((i / 32 % 2 == 0 ? byte & 15 : byte >> 4) | fifth << 4);
  }
  dequantize_affine(values, out);
}

void pack_block(std::span<const float> x, std::byte* block) noexcept { store_q5_k(quantize_affine(x, 32), block); }

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  out.min = load_bits(block + 2);
  const ScalesAndMinima sub = load_scales_and_minima(block + 4);
  std::memcpy(out.sub_scales, sub.scales.data(), sub.scales.size());
  std::memcpy(out.sub_mins, sub.minima.data(), sub.minima.size());
  load_nibble_pairs<32>(block + 48, out.codes);
  or_bit_plane(block + 16, 4, out.codes);
}

}  // namespace

QuantFormat q5_k() {
  return {.name = "q5_k",
          .gguf_type = 13,
          .safetensors_dtype = "",
          .block_values = kSuperBlock,
          .block_bytes = kBytes,
          .unpack = unpack_blocks<unpack_block, kSuperBlock, kBytes>,
          .pack = pack_blocks<pack_block, kSuperBlock, kBytes>,
          .max_relative_error = 0.06f,
          .affine = {.code_bits = 5, .scales = AffineForm::Scales::kProduct, .has_min = true, .decompose = decompose}};
}

}  // namespace millrace::quant::formats
