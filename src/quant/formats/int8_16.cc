#include <algorithm>
#include <cmath>
#include <cstring>

#include "quant/format.h"

namespace millrace::quant::formats {
namespace {

// value = d * q: bf16 d, 16 signed bytes. For B of adapters, whose rows are their ranks: no file holds it.
constexpr int kValues = 16, kBytes = 2 + kValues;

void unpack_block(const std::byte* block, std::span<float> out) noexcept {
  std::uint16_t bits;
  std::memcpy(&bits, block, sizeof bits);
  const float d = bf16_to_f32(bits);
  for (int i = 0; i < kValues; ++i) out[i] = static_cast<float>(std::to_integer<std::int8_t>(block[2 + i])) * d;
}

void pack_block(std::span<const float> x, std::byte* block) noexcept {
  float largest = 0.0f;
  for (const float v : x) largest = std::max(largest, std::fabs(v));
  const std::uint16_t bits = f32_to_bf16(largest / 127.0f);
  const float d = bf16_to_f32(bits);
  std::memcpy(block, &bits, sizeof bits);
  for (int i = 0; i < kValues; ++i) {
    const float q = d == 0.0f ? 0.0f : std::clamp(std::nearbyint(x[i] / d), -127.0f, 127.0f);
    block[2 + i] = static_cast<std::byte>(static_cast<std::int8_t>(q));
  }
}

}  // namespace

QuantFormat int8_16() {
  return {.name = "int8_16",
          .gguf_type = -1,
          .safetensors_dtype = "",
          .block_values = kValues,
          .block_bytes = kBytes,
          .unpack = unpack_blocks<unpack_block, kValues, kBytes>,
          .pack = pack_blocks<pack_block, kValues, kBytes>,
          .max_relative_error = 0.004f};
}

}  // namespace millrace::quant::formats
