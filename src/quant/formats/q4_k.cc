#include "quant/format.h"
#include "quant/k_quant.h"

namespace millrace::quant::formats {
namespace {

// value = d * scale[s] * q - dmin * minimum[s], s = i / 32: f16 d, f16 dmin, 12 bytes of 6-bit scales and minima, 128
// bytes of nibbles; 32 bytes hold sub-blocks 2j (low) and 2j + 1 (high).
constexpr int kBytes = 144;

void unpack_block(const std::byte* block, std::span<float> out) noexcept {
  AffineSuperBlock values{
      .d = load_half(block), .dmin = load_half(block + 2), .sub = load_scales_and_minima(block + 4)};
  for (int i = 0; i < kSuperBlock; ++i) {
    const int byte = std::to_integer<int>(block[16 + i / 64 * 32 + i % 32]);
    values.codes[i] = static_cast<std::uint8_t>(i / 32 % 2 == 0 ? byte & 15 : byte >> 4);
  }
  dequantize_affine(values, out);
}

void pack_block(std::span<const float> x, std::byte* block) noexcept { store_q4_k(quantize_affine(x, 16), block); }

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  out.min = load_bits(block + 2);
  const ScalesAndMinima sub = load_scales_and_minima(block + 4);
  std::memcpy(out.sub_scales, sub.scales.data(), sub.scales.size());
  std::memcpy(out.sub_mins, sub.minima.data(), sub.minima.size());
  load_nibble_pairs<32>(block + 16, out.codes);
}

}  // namespace

QuantFormat q4_k() {
  return {.name = "q4_k",
          .gguf_type = 12,
          .safetensors_dtype = "",
          .block_values = kSuperBlock,
          .block_bytes = kBytes,
          .unpack = unpack_blocks<unpack_block, kSuperBlock, kBytes>,
          .pack = pack_blocks<pack_block, kSuperBlock, kBytes>,
          .max_relative_error = 0.09f,
          .affine = {.code_bits = 4, .scales = AffineForm::Scales::kProduct, .has_min = true, .decompose = decompose}};
}

}  // namespace millrace::quant::formats
