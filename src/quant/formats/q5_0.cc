#include "quant/block32.h"
#include "quant/format.h"

namespace millrace::quant::formats {
namespace {

// value = d * (q - 16): f16 d, 4 bytes of fifth bits, 16 bytes of nibbles.
constexpr int kBytes = 22;

void unpack_block(const std::byte* block, std::span<float> out) noexcept {
  const float d = load_half(block);
  Codes32 codes;
  load_nibbles(block + 6, codes);
  load_fifth_bits(block + 2, codes);
  for (int i = 0; i < kBlock32; ++i) out[i] = d * static_cast<float>(codes[i] - 16);
}

void pack_block(std::span<const float> x, std::byte* block) noexcept {
  Codes32 codes;
  store_half(block, symmetric_codes(x, 32, codes));
  store_fifth_bits(block + 2, codes);
  store_nibbles(block + 6, codes);
}

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  Codes32 codes;
  load_nibbles(block + 6, codes);
  load_fifth_bits(block + 2, codes);
  std::memcpy(out.codes, codes.data(), codes.size());
}

}  // namespace

QuantFormat q5_0() {
  return {.name = "q5_0",
          .gguf_type = 6,
          .safetensors_dtype = "",
          .block_values = kBlock32,
          .block_bytes = kBytes,
          .unpack = unpack_blocks<unpack_block, kBlock32, kBytes>,
          .pack = pack_blocks<pack_block, kBlock32, kBytes>,
          .max_relative_error = 0.064f,
          .affine = {.code_bits = 5, .zero = 16, .decompose = decompose}};
}

}  // namespace millrace::quant::formats
