#include <cstring>

#include "backend/cpu/kv_codes.h"
#include "backend/cpu/kv_encoding.h"
#include "backend/cpu/kv_key_codes.h"

namespace millrace::backend::cpu::kv_encodings {
namespace {

bool write(const KernelSet&, const KvGeometry& geometry, const float* key, const float* value, KvTokenBytes& to) {
  const std::int64_t pk = geometry.padded_key_dim(), pv = geometry.padded_value_dim();
  std::uint8_t codes[kMaxHeadDim];
  const bool key_fits = encode_keys(key, pk, 255, codes, to.key_scales);
  std::memcpy(to.key, codes, static_cast<std::size_t>(pk));
  const bool value_fits = encode_groups(value, pv, 15, codes, to.value_scales);
  pack_value_nibbles(codes, pv, to.value);
  return key_fits && value_fits;
}

void read(const KvGeometry& geometry, const KvToken& token, float* key, float* value) {
  std::uint8_t codes[kMaxHeadDim];
  decode_keys(reinterpret_cast<const std::uint8_t*>(token.key), token.key_scales, geometry.padded_key_dim(), key);
  unpack_value_nibbles(token.value, geometry.padded_value_dim(), codes);
  decode_groups(codes, token.value_scales, geometry.padded_value_dim(), value);
}

TileForm form(std::int64_t pk, std::int64_t pv) {
  return {.element = 1,
          .together = 4,
          .key_columns = pk,
          .value_columns = pv / 2,
          .strip = kStripDims / 2,
          .key_scales = 2 * key_groups(pk),
          .value_scales = 2 * pv / kCodeGroup,
          .scale_bytes = 2};
}

}  // namespace

KvEncoding k8v4() {
  return {.name = "k8v4",
          .description = "rotated heads, 8-bit keys and 4-bit values in groups with an f16 scale and minimum",
          .aliases = {},
          .granule = kCodeGroup,
          .rotates = true,
          .product_bytes = 1,
          // Of an outlier: a twelfth of a group's range may be cut off at either end.
          .key_error = 1.1f / 255,
          .value_error = 0.2f,
          .form = form,
          .write = write,
          .read = read};
}

}  // namespace millrace::backend::cpu::kv_encodings
