#include "quant/format.h"

namespace millrace::quant::formats {
namespace {

// The upper byte of an f16.
void unpack_e5m2(const std::byte* blocks, std::span<float> out) noexcept {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = f16_to_f32(static_cast<std::uint16_t>(std::to_integer<unsigned>(blocks[i]) << 8));
  }
}

}  // namespace

QuantFormat f8_e5m2() {
  return {.name = "f8_e5m2",
          .gguf_type = -1,
          .safetensors_dtype = "F8_E5M2",
          .block_values = 1,
          .block_bytes = 1,
          .unpack = unpack_e5m2,
          .pack = nullptr,
          .max_relative_error = 0.0f};
}

}  // namespace millrace::quant::formats
