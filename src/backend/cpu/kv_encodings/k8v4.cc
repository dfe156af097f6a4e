#include "backend/cpu/kv_code_bytes.h"
#include "backend/cpu/kv_encoding.h"

namespace millrace::backend::cpu::kv_encodings {
namespace {

bool write(const KernelSet& kernels, const KvGeometry& geometry, const float* key, const float* value,
           KvTokenBytes& to) {
  write_key_bytes(kernels, key, geometry.padded_key_dim(), to);
  write_narrow_values(value, geometry.padded_value_dim(), to);
  return true;
}

void read(const KvGeometry& geometry, const KvToken& token, float* key, float* value) {
  read_key_bytes(token, geometry.padded_key_dim(), key);
  read_narrow_values(token, geometry.padded_value_dim(), value);
}

TileForm form(std::int64_t pk, std::int64_t pv) {
  return {.element = 1,
          .together = 4,
          .key_columns = pk,
          .value_columns = pv / 2,
          .strip = kNarrowStrip,
          .key_scales = code_groups(pk),
          .value_scales = narrow_value_scales(pv),
          .scale_bytes = sizeof(float)};
}

}  // namespace

KvEncoding k8v4() {
  return {.name = "k8v4",
          .description = "rotated heads, 8-bit keys and 5-bit values with an f32 scale for each 128 dimensions",
          .aliases = {},
          .granule = 32,
          .rotates = true,
          .product_bytes = 1,
          .key_error = 0.51f / 127,
          .value_error = 0.51f / 15,
          .form = form,
          .write = write,
          .read = read};
}

}  // namespace millrace::backend::cpu::kv_encodings
