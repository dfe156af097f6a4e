#include "quant/format.h"
#include "quant/k_quant.h"

namespace millrace::quant::formats {
namespace {

// value = d * scale[i / 16] * (q - 32): 128 bytes of low nibbles, 64 bytes of high bit pairs, 16 signed scales, f16 d.
// Value i of a half (128 values): low nibble in byte i % 64 (its high half from i = 64), bit pair i / 32 of byte i
// % 32.
constexpr int low_byte(int i) noexcept { return i / 128 * 64 + i % 64; }
constexpr int low_shift(int i) noexcept { return i / 64 % 2 * 4; }
constexpr int kHighAt = 128, kScalesAt = 192, kScaleAt = 208;

constexpr int kBytes = 210;

void unpack_block(const std::byte* block, std::span<float> out) noexcept {
  const float d = load_half(block + kScaleAt);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int low = std::to_integer<int>(block[low_byte(i)]) >> low_shift(i) & 15;
    const int high = std::to_integer<int>(block[kHighAt + two_bit_byte(i)]) >> two_bit_shift(i) & 3;
    const float scale = d * static_cast<float>(std::to_integer<std::int8_t>(block[kScalesAt + i / 16]));
    out[i] = scale * static_cast<float>((low | high << 4) - 32);
  }
}

void pack_block(std::span<const float> x, std::byte* block) noexcept {
  std::array<float, 16> scales;
  float extreme = 0.0f;
  for (int s = 0; s < 16; ++s) {
    scales[s] = fit_symmetric(x.subspan(static_cast<std::size_t>(s) * 16, 16), 64);
    if (std::fabs(scales[s]) > std::fabs(extreme)) extreme = scales[s];
  }
  SignedSuperBlock packed{.d = f16_to_f32(f32_to_f16(extreme / -128.0f))};
  for (int i = 0; i < kSuperBlock; ++i) {
    const int scale = round_to_step(scales[i / 16], packed.d, -128, 127);
    packed.scales[i / 16] = static_cast<std::int8_t>(scale);
    packed.codes[i] =
        static_cast<std::uint8_t>(round_to_step(x[i], packed.d * static_cast<float>(scale), -32, 31) + 32);
  }
  store_q6_k(packed, block);
}

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = load_bits(block + kScaleAt);
  std::memcpy(out.sub_scales, block + kScalesAt, sizeof out.sub_scales);
  std::array<std::uint8_t, kSuperBlock> high;
  load_bit_pairs(block + kHighAt, high.data());
  load_nibble_pairs<64>(block, out.codes);
  for (int i = 0; i < kSuperBlock; ++i) out.codes[i] = static_cast<std::uint8_t>(out.codes[i] | high[i] << 4);
}

}  // namespace

QuantFormat q6_k() {
  return {.name = "q6_k",
          .gguf_type = 14,
          .safetensors_dtype = "",
          .block_values = kSuperBlock,
          .block_bytes = kBytes,
          .unpack = unpack_blocks<unpack_block, kSuperBlock, kBytes>,
          .pack = pack_blocks<pack_block, kSuperBlock, kBytes>,
          .max_relative_error = 0.04f,
          .affine = {.code_bits = 6,
                     .scales = AffineForm::Scales::kProduct,
                     .scale_group = 16,
                     .zero = 32,
                     .decompose = decompose}};
}

}  // namespace millrace::quant::formats
