#include "backend/cpu/kv_layout.h"

#include <algorithm>
#include <cstring>

namespace millrace::backend::cpu {
namespace {

// Unit: the n dimensions of a token that lie together among the keys. Element: one value.
template <typename Unit, typename Element>
void write_parts(std::int64_t head_dim, std::int64_t token, const KvToken& from, std::byte* keys,
                 std::byte* values) noexcept {
  constexpr auto kUnit = static_cast<std::int64_t>(sizeof(Unit)), kElement = static_cast<std::int64_t>(sizeof(Element));
  constexpr std::int64_t kDot = kUnit / kElement;
  for (std::int64_t d = 0; d < head_dim / kDot; ++d) {
    std::memcpy(keys + (d * kTileTokens + token) * kUnit, from.key + d * kUnit, sizeof(Unit));
  }
  for (std::int64_t strip = 0; strip < head_dim; strip += kStripDims) {
    const std::int64_t width = std::min(kStripDims, head_dim - strip);
    std::byte* to = values + (strip * kTileTokens + token / kDot * width * kDot + token % kDot) * kElement;
    for (std::int64_t d = 0; d < width; ++d) {
      std::memcpy(to + d * kUnit, from.value + (strip + d) * kElement, sizeof(Element));
    }
  }
}

}  // namespace

void write_to_tile(DType type, std::int64_t head_dim, std::int64_t token, const KvToken& from,
                   std::byte* tile) noexcept {
  std::byte* values = tile + tile_part_bytes(type, head_dim);
  switch (type) {
    case DType::kF32: write_parts<std::uint32_t, std::uint32_t>(head_dim, token, from, tile, values); return;
    case DType::kF16: write_parts<std::uint16_t, std::uint16_t>(head_dim, token, from, tile, values); return;
    case DType::kBF16: write_parts<std::uint32_t, std::uint16_t>(head_dim, token, from, tile, values); return;
    default: break;
  }
  write_parts<std::uint32_t, std::uint8_t>(head_dim, token, from, tile, values);
  const std::int64_t scale = kTileTokens * head_dim + token * static_cast<std::int64_t>(sizeof(float));
  std::memcpy(tile + scale, &from.key_scale, sizeof(float));
  std::memcpy(values + scale, &from.value_scale, sizeof(float));
}

void write_scales(const KvGeometry& geometry, std::byte* scales, std::int64_t slot, const KvToken& token) noexcept {
  if (geometry.dtype != DType::kI8) return;
  constexpr auto kScale = static_cast<std::int64_t>(sizeof(float));
  std::memcpy(scales + slot * kScale, &token.key_scale, sizeof(float));
  std::memcpy(scales + (geometry.block_tokens + slot) * kScale, &token.value_scale, sizeof(float));
}

void read_scales(const KvGeometry& geometry, const std::byte* scales, std::int64_t slot, KvToken& token) noexcept {
  if (geometry.dtype != DType::kI8) return;
  constexpr auto kScale = static_cast<std::int64_t>(sizeof(float));
  std::memcpy(&token.key_scale, scales + slot * kScale, sizeof(float));
  std::memcpy(&token.value_scale, scales + (geometry.block_tokens + slot) * kScale, sizeof(float));
}

const KvLayout* find_kv_layout(std::string_view name) noexcept {
  for (const KvLayout& layout : all_kv_layouts()) {
    if (layout.name == name) return &layout;
  }
  return nullptr;
}

const KvLayout& layout_of(const KvGeometry& geometry) noexcept {
  static const KvLayout* const in_place = find_kv_layout("paged32");
  return geometry.layout != nullptr ? *geometry.layout : *in_place;
}

}  // namespace millrace::backend::cpu
