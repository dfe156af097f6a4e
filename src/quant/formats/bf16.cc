#include <cstring>

#include "quant/format.h"
#include "tensor/dtype.h"

namespace millrace::quant::formats {
namespace {

void unpack(const std::byte* blocks, std::span<float> out) noexcept {
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, blocks + 2 * i, sizeof bits);
    out[i] = bf16_to_f32(bits);
  }
}

void pack(std::span<const float> in, std::byte* blocks) noexcept {
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::uint16_t bits = f32_to_bf16(in[i]);
    std::memcpy(blocks + 2 * i, &bits, sizeof bits);
  }
}

}  // namespace

QuantFormat bf16() {
  return {.name = "bf16",
          .gguf_type = 30,
          .safetensors_dtype = "BF16",
          .block_values = 1,
          .block_bytes = 2,
          .unpack = unpack,
          .pack = pack,
          .max_relative_error = 0x1p-8f};
}

}  // namespace millrace::quant::formats
