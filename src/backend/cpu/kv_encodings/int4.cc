#include "backend/cpu/kv_codes.h"
#include "backend/cpu/kv_encoding.h"
#include "backend/cpu/kv_key_codes.h"

namespace millrace::backend::cpu::kv_encodings {
namespace {

// Keys decide what a token looks at: the fifth bit, for which groups twice as long make room, takes errors of scores to
// a quarter.

bool write(const KernelSet&, const KvGeometry& geometry, const float* key, const float* value, KvTokenBytes& to) {
  const std::int64_t pk = geometry.padded_key_dim(), pv = geometry.padded_value_dim();
  std::uint8_t codes[kMaxHeadDim];
  const bool key_fits = encode_keys(key, pk, 31, codes, to.key_scales);
  take_fifth_bits(codes, pk, to.key_scales + 4 * key_groups(pk));
  pack_key_nibbles(codes, pk, to.key);
  const bool value_fits = encode_groups(value, pv, 15, codes, to.value_scales);
  pack_value_nibbles(codes, pv, to.value);
  return key_fits && value_fits;
}

void read(const KvGeometry& geometry, const KvToken& token, float* key, float* value) {
  std::uint8_t codes[kMaxHeadDim];
  const std::int64_t pk = geometry.padded_key_dim();
  unpack_key_nibbles(token.key, pk, codes);
  give_fifth_bits(token.key_scales + 4 * key_groups(pk), pk, codes);
  decode_keys(codes, token.key_scales, pk, key);
  unpack_value_nibbles(token.value, geometry.padded_value_dim(), codes);
  decode_groups(codes, token.value_scales, geometry.padded_value_dim(), value);
}

TileForm form(std::int64_t pk, std::int64_t pv) {
  return {.element = 1,
          .together = 4,
          .key_columns = pk / 2,
          .value_columns = pv / 2,
          .strip = kStripDims / 2,
          .key_scales = 2 * key_groups(pk) + pk / 16,
          .value_scales = 2 * pv / kCodeGroup,
          .scale_bytes = 2};
}

}  // namespace

KvEncoding int4() {
  return {.name = "int4",
          .description = "rotated heads, 5-bit keys and 4-bit values in groups with an f16 scale and minimum",
          .aliases = {},
          .granule = kCodeGroup,
          .rotates = true,
          .product_bytes = 1,
          // Of an outlier: a twelfth of a group's range may be cut off at either end.
          .key_error = 0.18f,
          .value_error = 0.2f,
          .form = form,
          .write = write,
          .read = read};
}

}  // namespace millrace::backend::cpu::kv_encodings
