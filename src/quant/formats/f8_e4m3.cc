#include "quant/format.h"

namespace millrace::quant::formats {
namespace {

void unpack_e4m3(const std::byte* blocks, std::span<float> out) noexcept {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = e4m3_to_f32(std::to_integer<std::uint8_t>(blocks[i]));
}

void pack_e4m3(std::span<const float> in, std::byte* blocks) noexcept {
  for (std::size_t i = 0; i < in.size(); ++i) blocks[i] = static_cast<std::byte>(f32_to_e4m3(in[i]));
}

}  // namespace

// Weights of this type come with scales in tensors of their own: see quant/float8_format.h.
QuantFormat f8_e4m3() {
  return {.name = "f8_e4m3",
          .gguf_type = -1,
          .safetensors_dtype = "F8_E4M3",
          .block_values = 1,
          .block_bytes = 1,
          .unpack = unpack_e4m3,
          .pack = pack_e4m3,
          .max_relative_error = 0.0625f};
}

}  // namespace millrace::quant::formats
