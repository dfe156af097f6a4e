#include <algorithm>
#include <cmath>
#include <cstring>

#include "quant/format.h"

namespace millrace::quant::formats {
namespace {

// value = scale * (q - 128): as int8_g32_f32 (group_format.h), but all blocks of a row have the same scale, so that
// products of a row stay integers to their end. No file holds it: W8A8 checkpoints have the scales apart.
constexpr int kValues = 32, kBytes = 4 + kValues;
constexpr float kZero = 128.0f;

void unpack_block(const std::byte* block, std::span<float> out) noexcept {
  float scale;
  std::memcpy(&scale, block, sizeof scale);
  for (int i = 0; i < kValues; ++i)
    out[i] = scale * (static_cast<float>(std::to_integer<std::uint8_t>(block[4 + i])) - kZero);
}

void pack(std::span<const float> row, std::byte* blocks) noexcept {
  float largest = 0.0f;
  for (const float v : row) largest = std::max(largest, std::fabs(v));
  const float scale = largest / 127.0f;
  for (std::size_t at = 0; at < row.size(); at += kValues, blocks += kBytes) {
    std::memcpy(blocks, &scale, sizeof scale);
    for (std::size_t i = 0; i < kValues; ++i) {
      const float q = scale == 0.0f ? 0.0f : std::nearbyint(row[at + i] / scale);
      blocks[4 + i] = static_cast<std::byte>(static_cast<std::uint8_t>(std::clamp(q, -127.0f, 127.0f) + kZero));
    }
  }
}

}  // namespace

QuantFormat int8_row() {
  return {.name = "int8_row",
          .gguf_type = -1,
          .safetensors_dtype = "",
          .block_values = kValues,
          .block_bytes = kBytes,
          .unpack = unpack_blocks<unpack_block, kValues, kBytes>,
          .pack = pack,
          .max_relative_error = 0.004f,
          .row_scaled = true};
}

}  // namespace millrace::quant::formats
