#include "backend/cpu/kv_code_bytes.h"
#include "backend/cpu/kv_encoding.h"

namespace millrace::backend::cpu::kv_encodings {
namespace {

bool write(const KernelSet& kernels, const KvGeometry& geometry, const float* key, const float* value,
           KvTokenBytes& to) {
  write_key_bytes(kernels, key, geometry.padded_key_dim(), to);
  auto* codes = reinterpret_cast<std::int8_t*>(to.value);
  encode_bytes(kernels, value, geometry.padded_value_dim(), codes, to.value_scales);
  return true;
}

void read(const KvGeometry& geometry, const KvToken& token, float* key, float* value) {
  read_key_bytes(token, geometry.padded_key_dim(), key);
  const auto* codes = reinterpret_cast<const std::int8_t*>(token.value);
  decode_groups(codes, token.value_scales, geometry.padded_value_dim(), value);
}

TileForm form(std::int64_t pk, std::int64_t pv) {
  return {.element = 1,
          .together = 4,
          .key_columns = pk,
          .value_columns = pv,
          .key_scales = code_groups(pk),
          .value_scales = code_groups(pv),
          .scale_bytes = sizeof(float)};
}

}  // namespace

KvEncoding int8() {
  return {.name = "int8",
          .description = "rotated heads in 8-bit integers with an f32 scale for each 128 dimensions",
          .aliases = {},
          .rotates = true,
          .product_bytes = 1,
          .key_error = 0.51f / 127,
          .value_error = 0.51f / 127,
          .form = form,
          .write = write,
          .read = read};
}

}  // namespace millrace::backend::cpu::kv_encodings
