#include <cstring>

#include "quant/format.h"

namespace millrace::quant::formats {
namespace {

void unpack(const std::byte* blocks, std::span<float> out) noexcept {
  std::memcpy(out.data(), blocks, out.size_bytes());
}
void pack(std::span<const float> in, std::byte* blocks) noexcept { std::memcpy(blocks, in.data(), in.size_bytes()); }

}  // namespace

QuantFormat f32() {
  return {.name = "f32",
          .gguf_type = 0,
          .safetensors_dtype = "F32",
          .block_values = 1,
          .block_bytes = 4,
          .unpack = unpack,
          .pack = pack,
          .max_relative_error = 0.0f};
}

}  // namespace millrace::quant::formats
