#include "backend/cpu/kv_codes.h"
#include "backend/cpu/kv_encoding.h"

namespace millrace::backend::cpu::kv_encodings {
namespace {

// Four bits and a few more: two for keys, which decide what a token looks at, and the sign for values. They lie behind
// the scales.

constexpr std::uint8_t kMiddle = 32;  // what stored codes of keys are more

bool write(const KernelSet&, const KvGeometry& geometry, const float* key, const float* value, KvTokenBytes& to) {
  const std::int64_t pk = geometry.padded_key_dim(), pv = geometry.padded_value_dim();
  std::int8_t codes[kMaxHeadDim];
  std::uint8_t stored[kMaxHeadDim];
  encode_groups(key, pk, 31, codes, to.key_scales);
  for (std::int64_t d = 0; d < pk; ++d) stored[d] = static_cast<std::uint8_t>(codes[d] + kMiddle);
  pack_key_nibbles(stored, pk, to.key);
  pack_key_pairs(stored, pk, to.key_scales + 4 * code_groups(pk));
  encode_groups(value, pv, 15, codes, to.value_scales);
  for (std::int64_t d = 0; d < pv; ++d) stored[d] = static_cast<std::uint8_t>(codes[d]);
  pack_value_nibbles(stored, pv, to.value);
  pack_value_bits(stored, pv, to.value_scales + 4 * code_groups(pv));
  return true;
}

void read(const KvGeometry& geometry, const KvToken& token, float* key, float* value) {
  const std::int64_t pk = geometry.padded_key_dim(), pv = geometry.padded_value_dim();
  std::int8_t codes[kMaxHeadDim];
  std::uint8_t stored[kMaxHeadDim];
  unpack_key_nibbles(token.key, pk, stored);
  unpack_key_pairs(token.key_scales + 4 * code_groups(pk), pk, stored);
  for (std::int64_t d = 0; d < pk; ++d) codes[d] = static_cast<std::int8_t>(stored[d] - kMiddle);
  decode_groups(codes, token.key_scales, pk, key);
  unpack_value_nibbles(token.value, pv, stored);
  unpack_value_bits(token.value_scales + 4 * code_groups(pv), pv, stored);
  for (std::int64_t d = 0; d < pv; ++d)
    codes[d] = static_cast<std::int8_t>(stored[d] < 16 ? stored[d] : stored[d] - 32);
  decode_groups(codes, token.value_scales, pv, value);
}

TileForm form(std::int64_t pk, std::int64_t pv) {
  return {.element = 1,
          .together = 4,
          .key_columns = pk / 2,
          .value_columns = pv / 2,
          .strip = kStripDims / 2,
          .key_scales = code_groups(pk) + pk / 16,
          .value_scales = code_groups(pv) + pv / 32,
          .scale_bytes = sizeof(float)};
}

}  // namespace

KvEncoding int4() {
  return {.name = "int4",
          .description = "rotated heads, 6-bit keys and 5-bit values with an f32 scale for each 128 dimensions",
          .aliases = {},
          .granule = 32,
          .rotates = true,
          .product_bytes = 1,
          .key_error = 0.51f / 31,
          .value_error = 0.51f / 15,
          .form = form,
          .write = write,
          .read = read};
}

}  // namespace millrace::backend::cpu::kv_encodings
