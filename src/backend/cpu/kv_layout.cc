#include "backend/cpu/kv_layout.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "backend/cpu/kv_encoding.h"
#include "backend/device_kind.h"

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

Result<KvFormat> choose_pages(std::string_view encoding_name, std::string_view name, std::int64_t block_tokens) {
  const KvEncoding* encoding = find_kv_encoding(encoding_name);
  if (encoding == nullptr) {
    std::string known;
    for (const KvEncoding& e : all_kv_encodings()) known += (known.empty() ? "" : ", ") + std::string(e.name);
    return make_error(ErrorCode::kInvalidArgument, "kv-cache-dtype", "kv-cache-dtype is '{}': expected one of {}",
                      encoding_name, known);
  }
  const KvLayout* layout = find_kv_layout(name);
  if (layout == nullptr) {
    std::string known;
    for (const KvLayout& l : all_kv_layouts()) known += (known.empty() ? "" : ", ") + std::string(l.name);
    return make_error(ErrorCode::kInvalidArgument, "kv-layout", "kv-layout is '{}': expected one of {}", name, known);
  }
  if (block_tokens == 0) block_tokens = layout->block_tokens;
  if (block_tokens < 1 || block_tokens > kMaxBlockTokens || !layout->fits(block_tokens)) {
    return make_error(ErrorCode::kInvalidArgument, "block-size",
                      "block-size is {}: pages of kv-layout {} have {} tokens, {} at most", block_tokens, layout->name,
                      layout->block_sizes, kMaxBlockTokens);
  }
  return KvFormat{.encoding = encoding->name, .block_tokens = block_tokens, .layout = layout->name};
}

Result<void> check_pages(const KvFormat& format) {
  const std::string_view layout = format.layout.empty() ? "paged32" : format.layout;
  const auto chosen = choose_pages(format.encoding, layout, std::max<std::int64_t>(format.block_tokens, 1));
  if (!chosen) return chosen.error();
  return {};
}

const KvLayout& layout_of(const KvGeometry& geometry) noexcept {
  static const KvLayout* const in_place = find_kv_layout("paged32");
  return geometry.layout != nullptr ? *geometry.layout : *in_place;
}

}  // namespace millrace::backend::cpu
