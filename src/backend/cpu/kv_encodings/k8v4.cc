#include "backend/cpu/kv_code_bytes.h"
#include "backend/cpu/kv_encoding.h"

namespace millrace::backend::cpu::kv_encodings {
namespace {

constexpr std::uint8_t kEight = 8;  // what stored codes of values are more

bool write(const KernelSet& kernels, const KvGeometry& geometry, const float* key, const float* value,
           KvTokenBytes& to) {
  const std::int64_t pv = geometry.padded_value_dim();
  write_key_bytes(kernels, key, geometry.padded_key_dim(), to);
  std::int8_t codes[kMaxHeadDim];
  std::uint8_t stored[kMaxHeadDim];
  encode_groups(value, pv, 7, codes, to.value_scales);
  for (std::int64_t d = 0; d < pv; ++d) stored[d] = static_cast<std::uint8_t>(codes[d] + kEight);
  pack_value_nibbles(stored, pv, to.value);
  return true;
}

void read(const KvGeometry& geometry, const KvToken& token, float* key, float* value) {
  const std::int64_t pv = geometry.padded_value_dim();
  read_key_bytes(token, geometry.padded_key_dim(), key);
  std::uint8_t stored[kMaxHeadDim];
  std::int8_t codes[kMaxHeadDim];
  unpack_value_nibbles(token.value, pv, stored);
  for (std::int64_t d = 0; d < pv; ++d) codes[d] = static_cast<std::int8_t>(stored[d] - kEight);
  decode_groups(codes, token.value_scales, pv, value);
}

TileForm form(std::int64_t pk, std::int64_t pv) {
  return {.element = 1,
          .together = 4,
          .key_columns = pk,
          .value_columns = pv / 2,
          .strip = kStripDims / 2,
          .key_scales = code_groups(pk),
          .value_scales = code_groups(pv),
          .scale_bytes = sizeof(float)};
}

}  // namespace

KvEncoding k8v4() {
  return {.name = "k8v4",
          .description = "rotated heads, 8-bit keys and 4-bit values with an f32 scale for each 128 dimensions",
          .aliases = {},
          .granule = 32,
          .rotates = true,
          .product_bytes = 1,
          .key_error = 0.51f / 127,
          .value_error = 0.51f / 7,
          .form = form,
          .write = write,
          .read = read};
}

}  // namespace millrace::backend::cpu::kv_encodings
