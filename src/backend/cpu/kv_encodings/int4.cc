#include "backend/cpu/kv_code_bytes.h"
#include "backend/cpu/kv_encoding.h"

namespace millrace::backend::cpu::kv_encodings {
namespace {

// Four bits and a few more: two for keys, which decide what a token looks at, and the sign for values. They lie behind
// the scales.

constexpr std::uint8_t kMiddle = 32;  // what stored codes of keys are more

bool write(const KernelSet&, const KvGeometry& geometry, const float* key, const float* value, KvTokenBytes& to) {
  const std::int64_t pk = geometry.padded_key_dim();
  std::int8_t codes[kMaxHeadDim];
  std::uint8_t stored[kMaxHeadDim];
  encode_groups(key, pk, 31, codes, to.key_scales);
  for (std::int64_t d = 0; d < pk; ++d) stored[d] = static_cast<std::uint8_t>(codes[d] + kMiddle);
  pack_key_nibbles(stored, pk, to.key);
  pack_key_pairs(stored, pk, to.key_scales + 4 * code_groups(pk));
  write_narrow_values(value, geometry.padded_value_dim(), to);
  return true;
}

void read(const KvGeometry& geometry, const KvToken& token, float* key, float* value) {
  const std::int64_t pk = geometry.padded_key_dim();
  std::int8_t codes[kMaxHeadDim];
  std::uint8_t stored[kMaxHeadDim];
  unpack_key_nibbles(token.key, pk, stored);
  unpack_key_pairs(token.key_scales + 4 * code_groups(pk), pk, stored);
  for (std::int64_t d = 0; d < pk; ++d) codes[d] = static_cast<std::int8_t>(stored[d] - kMiddle);
  decode_groups(codes, token.key_scales, pk, key);
  read_narrow_values(token, geometry.padded_value_dim(), value);
}

TileForm form(std::int64_t pk, std::int64_t pv) {
  return {.element = 1,
          .together = 4,
          .key_columns = pk / 2,
          .value_columns = pv / 2,
          .strip = kNarrowStrip,
          .key_scales = code_groups(pk) + pk / 16,
          .value_scales = narrow_value_scales(pv),
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
