#include "backend/cpu/kv_layout.h"

#include <cstring>

namespace millrace::backend::cpu {

void write_scales(const KvGeometry& geometry, std::byte* head, std::int64_t offset, std::int64_t slot,
                  const KvToken& token) noexcept {
  const TileForm form = tile_form(geometry);
  const auto bytes = static_cast<std::size_t>(form.scale_bytes);
  std::byte* to = head + offset + slot * form.scale_bytes;
  const std::int64_t step = geometry.block_tokens * form.scale_bytes;
  for (std::int64_t i = 0; i < form.key_scales; ++i, to += step) {
    std::memcpy(to, token.key_scales + i * form.scale_bytes, bytes);
  }
  for (std::int64_t i = 0; i < form.value_scales; ++i, to += step) {
    std::memcpy(to, token.value_scales + i * form.scale_bytes, bytes);
  }
}

void gather_scales(const KvGeometry& geometry, const KvSlot* tokens, std::int64_t offset, std::byte* tile) noexcept {
  const TileForm form = tile_form(geometry);
  const auto bytes = static_cast<std::size_t>(form.scale_bytes);
  std::byte* to = tile + form.scales_at();
  const std::int64_t all = form.key_scales + form.value_scales, step = geometry.block_tokens * form.scale_bytes;
  for (std::int64_t i = 0; i < all; ++i) {
    for (std::int64_t t = 0; t < kTileTokens; ++t, to += form.scale_bytes) {
      std::memcpy(to, tokens[t].head + offset + i * step + tokens[t].slot * form.scale_bytes, bytes);
    }
  }
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
