#include "quant/format.h"
#include "quant/k_quant.h"

namespace millrace::quant::formats {
namespace {

// value = d * (scale[i / 16] - 32) * q, q in [-4, 3]: 32 bytes whose bit i / 32 of byte i % 32 is set when q >= 0, 64
// bytes of bit pairs, 12 bytes of 6-bit scales, f16 d.
constexpr int kCodesAt = 32, kScalesAt = 96, kScaleAt = 108;

// Scale s: low nibbles in bytes 0-7 (s and s + 8 share one), upper bit pairs in bytes 8-11 (s, s + 4, s + 8, s + 12
// share one).
int load_scale(const std::byte* at, int s) noexcept {
  const int low = std::to_integer<int>(at[s % 8]) >> (s / 8 * 4) & 15;
  const int high = std::to_integer<int>(at[8 + s % 4]) >> (s / 4 * 2) & 3;
  return (low | high << 4) - 32;
}

void store_scale(std::byte* at, int s, int scale) noexcept {
  const int bits = scale + 32;
  at[s % 8] |= static_cast<std::byte>((bits & 15) << (s / 8 * 4));
  at[8 + s % 4] |= static_cast<std::byte>((bits >> 4) << (s / 4 * 2));
}

constexpr int kBytes = 110;

void unpack_block(const std::byte* block, std::span<float> out) noexcept {
  const float d = load_half(block + kScaleAt);
  for (int i = 0; i < kSuperBlock; ++i) {
    const float scale = d * static_cast<float>(load_scale(block + kScalesAt, i / 16));
    const int low = std::to_integer<int>(block[kCodesAt + two_bit_byte(i)]) >> two_bit_shift(i) & 3;
    const int not_negative = std::to_integer<int>(block[i % 32]) >> (i / 32) & 1;
    out[i] = scale * static_cast<float>(low - (not_negative ? 0 : 4));
  }
}

void pack_block(std::span<const float> x, std::byte* block) noexcept {
  std::array<float, 16> scales;
  float extreme = 0.0f;
  for (int s = 0; s < 16; ++s) {
    scales[s] = fit_symmetric(x.subspan(static_cast<std::size_t>(s) * 16, 16), 8);
    if (std::fabs(scales[s]) > std::fabs(extreme)) extreme = scales[s];
  }
  std::fill_n(block, kBytes, std::byte{0});
  store_half(block + kScaleAt, extreme / -32.0f);
  const float d = load_half(block + kScaleAt);
  for (int s = 0; s < 16; ++s) store_scale(block + kScalesAt, s, round_to_step(scales[s], d, -32, 31));
  for (int i = 0; i < kSuperBlock; ++i) {
    const float scale = d * static_cast<float>(load_scale(block + kScalesAt, i / 16));
    const int q = round_to_step(x[i], scale, -4, 3);
    block[kCodesAt + two_bit_byte(i)] |= static_cast<std::byte>((q & 3) << two_bit_shift(i));
    if (q >= 0) block[i % 32] |= static_cast<std::byte>(1 << (i / 32));
  }
}

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = load_bits(block + kScaleAt);
  for (int s = 0; s < 16; ++s) out.sub_scales[s] = static_cast<std::int8_t>(load_scale(block + kScalesAt, s));
  load_bit_pairs(block + kCodesAt, out.codes);
  or_bit_plane(block, 2, out.codes);
}

}  // namespace

QuantFormat q3_k() {
  return {.name = "q3_k",
          .gguf_type = 11,
          .safetensors_dtype = "",
          .block_values = kSuperBlock,
          .block_bytes = kBytes,
          .unpack = unpack_blocks<unpack_block, kSuperBlock, kBytes>,
          .pack = pack_blocks<pack_block, kSuperBlock, kBytes>,
          .max_relative_error = 0.3f,
          .affine = {.code_bits = 3,
                     .scales = AffineForm::Scales::kProduct,
                     .scale_group = 16,
                     .zero = 4,
                     .decompose = decompose}};
}

}  // namespace millrace::quant::formats
