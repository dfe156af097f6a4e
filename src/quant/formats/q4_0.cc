#include "quant/block32.h"
#include "quant/format.h"

namespace millrace::quant::formats {
namespace {

// value = d * (q - 8): f16 d, 16 bytes of nibbles.
constexpr int kBytes = 18;

void unpack_block(const std::byte* block, std::span<float> out) noexcept {
  const float d = load_half(block);
  Codes32 codes;
  load_nibbles(block + 2, codes);

  for (int i = 0; i < kBlock32; ++i) out[i] = d * static_cast<float>(codes[i] - 8);
}

void pack_block(std::span<const float> x, std::byte* block) noexcept {
  Codes32 codes;
  store_half(block, symmetric_codes(x, 16, codes));

  store_nibbles(block + 2, codes);
}

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  Codes32 codes;
  load_nibbles(block + 2, codes);
  std::memcpy(out.codes, codes.data(), codes.size());
}

}  // namespace

QuantFormat q4_0() {
  return {.name = "q4_0",
          .gguf_type = 2,
          .safetensors_dtype = "",
          .block_values = kBlock32,
          .block_bytes = kBytes,
          .unpack = unpack_blocks<unpack_block, kBlock32, kBytes>,
          .pack = pack_blocks<pack_block, kBlock32, kBytes>,
          .max_relative_error = 0.1265f,
          .affine = {.code_bits = 4, .zero = 8, .decompose = decompose}};
}

}  // namespace millrace::quant::formats
