#include "quant/format.h"
#include "quant/k_quant.h"

namespace millrace::quant::formats {
namespace {

// value = d * scale[s] * q - dmin * minimum[s], s = i / 16: 16 bytes with a 4-bit scale (low) and minimum (high) each,
// 64 bytes of bit pairs, f16 d, f16 dmin.
constexpr int kCodesAt = 16, kScaleAt = 80, kMinimumAt = 82;

constexpr int kBytes = 84;

void unpack_block(const std::byte* block, std::span<float> out) noexcept {
  const float d = load_half(block + kScaleAt), dmin = load_half(block + kMinimumAt);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int sub = std::to_integer<int>(block[i / 16]);
    const int q = std::to_integer<int>(block[kCodesAt + two_bit_byte(i)]) >> two_bit_shift(i) & 3;
    out[i] = d * static_cast<float>(sub & 15) * static_cast<float>(q) - dmin * static_cast<float>(sub >> 4);
  }
}

void pack_block(std::span<const float> x, std::byte* block) noexcept {
  std::array<SubBlockFit, 16> fits;
  float max_scale = 0.0f, max_minimum = 0.0f;
  for (int s = 0; s < 16; ++s) {
    fits[s] = fit_affine(x.subspan(static_cast<std::size_t>(s) * 16, 16), 4);
    max_scale = std::max(max_scale, fits[s].scale);
    max_minimum = std::max(max_minimum, fits[s].minimum);
  }
  std::fill_n(block, kBytes, std::byte{0});
  store_half(block + kScaleAt, max_scale / 15.0f);
  store_half(block + kMinimumAt, max_minimum / 15.0f);
  const float d = load_half(block + kScaleAt), dmin = load_half(block + kMinimumAt);
  for (int i = 0; i < kSuperBlock; ++i) {
    const int scale = round_to_step(fits[i / 16].scale, d, 0, 15);
    const int minimum = round_to_step(fits[i / 16].minimum, dmin, 0, 15);
    block[i / 16] = static_cast<std::byte>(scale | minimum << 4);
    const float shifted = x[i] + dmin * static_cast<float>(minimum);
    const int q = round_to_step(shifted, d * static_cast<float>(scale), 0, 3);
    block[kCodesAt + two_bit_byte(i)] |= static_cast<std::byte>(q << two_bit_shift(i));
  }
}

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = load_bits(block + kScaleAt);
  out.min = load_bits(block + kMinimumAt);
  for (int s = 0; s < 16; ++s) {
    const int sub = std::to_integer<int>(block[s]);
    out.sub_scales[s] = static_cast<std::int8_t>(sub & 15);
    out.sub_mins[s] = static_cast<std::uint8_t>(sub >> 4);
  }
  load_bit_pairs(block + kCodesAt, out.codes);
}

}  // namespace

QuantFormat q2_k() {
  return {.name = "q2_k",
          .gguf_type = 10,
          .safetensors_dtype = "",
          .block_values = kSuperBlock,
          .block_bytes = kBytes,
          .unpack = unpack_blocks<unpack_block, kSuperBlock, kBytes>,
          .pack = pack_blocks<pack_block, kSuperBlock, kBytes>,
          .max_relative_error = 0.45f,
          .affine = {.code_bits = 2,
                     .scales = AffineForm::Scales::kProduct,
                     .scale_group = 16,
                     .has_min = true,
                     .decompose = decompose}};
}

}  // namespace millrace::quant::formats
