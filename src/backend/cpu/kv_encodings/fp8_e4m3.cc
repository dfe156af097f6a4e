#include <algorithm>

#include "backend/cpu/kv_codes.h"
#include "backend/cpu/kv_encoding.h"

namespace millrace::backend::cpu::kv_encodings {
namespace {

// With a scale of the checkpoint, numbers beyond it saturate; without one they do not fit.
bool convert(const float* x, std::int64_t n, float scale, std::byte* to) {
  const bool saturates = scale > 0.0f;
  const float inverse = saturates ? 1.0f / scale : 1.0f;
  bool fits = true;
  for (std::int64_t i = 0; i < n; ++i) {
    float v = x[i] * inverse;
    if (saturates && std::isfinite(v)) v = std::clamp(v, -kMaxE4m3, kMaxE4m3);
    const std::uint8_t byte = encode_e4m3(v);
    if ((byte & kE4m3Nan) == kE4m3Nan && !std::isnan(v)) fits = false;
    to[i] = static_cast<std::byte>(byte);
  }
  return fits;
}

bool write(const KernelSet&, const KvGeometry& geometry, const float* key, const float* value, KvTokenBytes& to) {
  const bool key_fits = convert(key, geometry.padded_key_dim(), geometry.key_scale, to.key);
  return convert(value, geometry.padded_value_dim(), geometry.value_scale, to.value) && key_fits;
}

void read(const KvGeometry& geometry, const KvToken& token, float* key, float* value) {
  for (std::int64_t d = 0; d < geometry.padded_key_dim(); ++d) {
    key[d] = e4m3_to_f32(std::to_integer<std::uint8_t>(token.key[d])) * geometry.key_factor();
  }
  for (std::int64_t d = 0; d < geometry.padded_value_dim(); ++d) {
    value[d] = e4m3_to_f32(std::to_integer<std::uint8_t>(token.value[d])) * geometry.value_factor();
  }
}

}  // namespace

KvEncoding fp8_e4m3() {
  return {.name = "fp8_e4m3",
          .description = "8-bit floats, with the scales of the checkpoint where it has some",
          .aliases = {"fp8"},
          .takes_scales = true,
          .product_bytes = 2,
          .key_error = 1.0f / 16,
          .value_error = 1.0f / 16,
          .form = [](std::int64_t pk, std::int64_t pv) { return dense_form<std::uint8_t>(pk, pv, 2); },
          .write = write,
          .read = read};
}

}  // namespace millrace::backend::cpu::kv_encodings
