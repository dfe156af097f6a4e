#include <cstring>

#include "backend/cpu/kv_encoding.h"

namespace millrace::backend::cpu::kv_encodings {
namespace {

// The kernels multiply with unsigned keys: 128 more than the code.
constexpr std::byte kSign{0x80};

bool write(const KernelSet& kernels, const KvGeometry& geometry, const float* key, const float* value,
           KvTokenBytes& to) {
  const std::int64_t pk = geometry.padded_key_dim();
  float key_scale, value_scale;
  kernels.to_int8(key, pk, reinterpret_cast<std::int8_t*>(to.key), &key_scale);
  kernels.to_int8(value, geometry.padded_value_dim(), reinterpret_cast<std::int8_t*>(to.value), &value_scale);
  for (std::int64_t d = 0; d < pk; ++d) to.key[d] ^= kSign;
  std::memcpy(to.key_scales, &key_scale, sizeof(float));
  std::memcpy(to.value_scales, &value_scale, sizeof(float));
  return true;
}

void read(const KvGeometry& geometry, const KvToken& token, float* key, float* value) {
  float key_scale, value_scale;
  std::memcpy(&key_scale, token.key_scales, sizeof(float));
  std::memcpy(&value_scale, token.value_scales, sizeof(float));
  for (std::int64_t d = 0; d < geometry.padded_key_dim(); ++d) {
    key[d] = key_scale * static_cast<float>(std::to_integer<std::int8_t>(token.key[d] ^ kSign));
  }
  for (std::int64_t d = 0; d < geometry.padded_value_dim(); ++d) {
    value[d] = value_scale * static_cast<float>(std::to_integer<std::int8_t>(token.value[d]));
  }
}

TileForm form(std::int64_t pk, std::int64_t pv) {
  return {.element = 1,
          .together = 4,
          .key_columns = pk,
          .value_columns = pv,
          .key_scales = 1,
          .value_scales = 1,
          .scale_bytes = sizeof(float)};
}

}  // namespace

KvEncoding int8() {
  return {.name = "int8",
          .description = "8-bit integers, one f32 scale for the key and one for the value of a token and head",
          .aliases = {},
          .product_bytes = 1,
          .key_error = 0.51f / 127,
          .value_error = 0.51f / 127,
          .form = form,
          .write = write,
          .read = read};
}

}  // namespace millrace::backend::cpu::kv_encodings
