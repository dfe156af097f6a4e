#include "quant/block32.h"
#include "quant/format.h"

namespace millrace::quant::formats {
namespace {

// value = d * q: f16 d, 32 signed bytes.
constexpr int kBytes = 34;

void unpack_block(const std::byte* block, std::span<float> out) noexcept {
  const float d = load_half(block);
  for (int i = 0; i < kBlock32; ++i) out[i] = static_cast<float>(std::to_integer<std::int8_t>(block[2 + i])) * d;
}

void pack_block(std::span<const float> x, std::byte* block) noexcept {
  float largest = 0.0f;
  for (const float v : x) largest = std::max(largest, std::fabs(v));
  const float d = largest / 127.0f;
  const float inverse = d == 0.0f ? 0.0f : 1.0f / d;
  store_half(block, d);
  for (int i = 0; i < kBlock32; ++i) {
    const float q = std::round(x[i] * inverse);         // halves away from zero, as the reference
    const bool in_range = q >= -127.0f && q <= 127.0f;  // not when 1 / d overflowed
    block[2 + i] = static_cast<std::byte>(static_cast<std::int8_t>(in_range ? q : 0.0f));
  }
}

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  Codes32 codes;
  std::memcpy(codes.data(), block + 2, codes.size());
  for (std::uint8_t& code : codes) code ^= 0x80;
  std::memcpy(out.codes, codes.data(), codes.size());
}

}  // namespace

QuantFormat q8_0() {
  return {.name = "q8_0",
          .gguf_type = 8,
          .safetensors_dtype = "",
          .block_values = kBlock32,
          .block_bytes = kBytes,
          .unpack = unpack_blocks<unpack_block, kBlock32, kBytes>,
          .pack = pack_blocks<pack_block, kBlock32, kBytes>,
          .max_relative_error = 0.0046f,
          .affine = {.code_bits = 8, .zero = 128, .decompose = decompose}};
}

}  // namespace millrace::quant::formats
