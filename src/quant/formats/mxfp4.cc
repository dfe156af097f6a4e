#include "quant/block32.h"
#include "quant/format.h"

namespace millrace::quant::formats {
namespace {

// MXFP4 (OCP Microscaling Formats 1.0): value = 2^(e - 128) * kLevels[q]: a byte e, 16 bytes of nibbles. The levels are
// e2m1 numbers doubled; the format has a -0, which reads as 0.
constexpr std::array<std::int8_t, 16> kLevels = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
constexpr int kBytes = 17;

// The exponent of the largest magnitude is that of 4, the largest power of two in e2m1: the standard's rule. What then
// lies above 6 becomes 6. GGUF's package takes the logarithm in f32, which is one more for some values just below a
// power of two, and wraps around below 2^-125, where this is 0.
std::uint8_t shared_exponent(std::span<const float> x) noexcept {
  float largest = 0.0f;
  for (const float v : x) largest = std::max(largest, std::fabs(v));
  return largest == 0.0f ? 0 : static_cast<std::uint8_t>(std::max(std::ilogb(largest) - 2 + 127, 0));
}

void unpack_block(const std::byte* block, std::span<float> out) noexcept {
  const float d = half_e8m0_to_f32(std::to_integer<std::uint8_t>(block[0]));
  Codes32 codes;
  load_nibbles(block + 1, codes);
  for (int i = 0; i < kBlock32; ++i) out[i] = d * static_cast<float>(kLevels[codes[i]]);
}

void pack_block(std::span<const float> x, std::byte* block) noexcept {
  const std::uint8_t exponent = shared_exponent(x);
  const float d = half_e8m0_to_f32(exponent);
  Codes32 codes;
  for (int i = 0; i < kBlock32; ++i) codes[i] = nearest_level(kLevels, x[i] / d);
  block[0] = static_cast<std::byte>(exponent);
  store_nibbles(block + 1, codes);
}

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = std::to_integer<std::uint8_t>(block[0]);
  Codes32 codes;
  load_nibbles(block + 1, codes);
  std::memcpy(out.codes, codes.data(), codes.size());
}

}  // namespace

QuantFormat mxfp4() {
  return {.name = "mxfp4",
          .gguf_type = 39,
          .safetensors_dtype = "",
          .block_values = kBlock32,
          .block_bytes = kBytes,
          .unpack = unpack_blocks<unpack_block, kBlock32, kBytes>,
          .pack = pack_blocks<pack_block, kBlock32, kBytes>,
          .max_relative_error = 0.25f,
          .affine = {.code_bits = 4,
                     .scales = AffineForm::Scales::kE8m0,
                     .zero = 16,
                     .levels = kLevels.data(),
                     .decompose = decompose}};
}

}  // namespace millrace::quant::formats
