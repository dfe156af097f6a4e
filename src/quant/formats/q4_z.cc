#include "quant/block32.h"
#include "quant/format.h"

namespace millrace::quant::formats {
namespace {

// value = d * (q - 8 - z): f16 d, signed byte z, 16 bytes of nibbles as in q4_0. No file holds it: readers
// of weights with a zero point a group put them into this form (see docs/quant.md).
constexpr int kBytes = 19, kZero = 8;

void unpack_block(const std::byte* block, std::span<float> out) noexcept {
  const float d = load_half(block);
  const int zero = kZero + std::to_integer<std::int8_t>(block[2]);
  Codes32 codes;
  load_nibbles(block + 3, codes);
  for (int i = 0; i < kBlock32; ++i) out[i] = d * static_cast<float>(codes[i] - zero);
}

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  out.zero_point = std::to_integer<std::int8_t>(block[2]);
  Codes32 codes;
  load_nibbles(block + 3, codes);
  std::memcpy(out.codes, codes.data(), codes.size());
}

}  // namespace

QuantFormat q4_z() {
  return {.name = "q4_z",
          .gguf_type = -1,
          .safetensors_dtype = "",
          .block_values = kBlock32,
          .block_bytes = kBytes,
          .unpack = unpack_blocks<unpack_block, kBlock32, kBytes>,
          .pack = nullptr,
          .max_relative_error = 0.0f,
          .affine = {.code_bits = 4, .zero_points = true, .zero = kZero, .decompose = decompose}};
}

}  // namespace millrace::quant::formats
