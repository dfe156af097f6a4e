#include "quant/block32.h"
#include "quant/format.h"

namespace millrace::quant::formats {
namespace {

// value = d * q + m: f16 d and m, 16 bytes of nibbles.
constexpr int kBytes = 20;

void unpack_block(const std::byte* block, std::span<float> out) noexcept {
  const float d = load_half(block), m = load_half(block + 2);
  Codes32 codes;
  load_nibbles(block + 4, codes);

  for (int i = 0; i < kBlock32; ++i) out[i] = d * static_cast<float>(codes[i]) + m;
}

void pack_block(std::span<const float> x, std::byte* block) noexcept {
  Codes32 codes;
  const AffineScale fit = affine_codes(x, 16, codes);
  store_half(block, fit.scale);
  store_half(block + 2, fit.minimum);

  store_nibbles(block + 4, codes);
}

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  out.min = load_bits(block + 2);
  Codes32 codes;
  load_nibbles(block + 4, codes);
  std::memcpy(out.codes, codes.data(), codes.size());
}

}  // namespace

QuantFormat q4_1() {
  return {.name = "q4_1",
          .gguf_type = 3,
          .safetensors_dtype = "",
          .block_values = kBlock32,
          .block_bytes = kBytes,
          .unpack = unpack_blocks<unpack_block, kBlock32, kBytes>,
          .pack = pack_blocks<pack_block, kBlock32, kBytes>,
          .max_relative_error = 0.069f,
          .affine = {.code_bits = 4, .has_min = true, .decompose = decompose}};
}

}  // namespace millrace::quant::formats
