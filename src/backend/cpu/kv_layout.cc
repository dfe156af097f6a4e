#include "backend/cpu/kv_layout.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "backend/device_kind.h"

namespace millrace::backend::cpu {

void write_scales(const KvGeometry& geometry, std::byte* head, std::int64_t offset, std::int64_t slot,
                  const KvToken& token) noexcept {
  if (geometry.dtype != DType::kI8) return;
  constexpr auto kScale = static_cast<std::int64_t>(sizeof(float));
  std::memcpy(head + offset + slot * kScale, &token.key_scale, sizeof(float));
  std::memcpy(head + offset + (geometry.block_tokens + slot) * kScale, &token.value_scale, sizeof(float));
}

void gather_scales(const KvGeometry& geometry, const KvSlot* tokens, std::int64_t offset, std::byte* tile) noexcept {
  if (geometry.dtype != DType::kI8) return;
  constexpr auto kScale = static_cast<std::int64_t>(sizeof(float));
  std::byte* keys = tile + tile_form(geometry).scales_at();
  std::byte* values = keys + kTileTokens * kScale;
  for (std::int64_t t = 0; t < kTileTokens; ++t) {
    const std::byte* scales = tokens[t].head + offset + tokens[t].slot * kScale;
    std::memcpy(keys + t * kScale, scales, sizeof(float));
    std::memcpy(values + t * kScale, scales + geometry.block_tokens * kScale, sizeof(float));
  }
}

const KvLayout* find_kv_layout(std::string_view name) noexcept {
  for (const KvLayout& layout : all_kv_layouts()) {
    if (layout.name == name) return &layout;
  }
  return nullptr;
}

Result<KvFormat> choose_pages(DType dtype, std::string_view name, std::int64_t block_tokens) {
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
  return KvFormat{.dtype = dtype, .block_tokens = block_tokens, .layout = layout->name};
}

Result<void> check_pages(const KvFormat& format) {
  const std::string_view layout = format.layout.empty() ? "paged32" : format.layout;
  const auto chosen = choose_pages(format.dtype, layout, std::max<std::int64_t>(format.block_tokens, 1));
  if (!chosen) return chosen.error();
  return {};
}

const KvLayout& layout_of(const KvGeometry& geometry) noexcept {
  static const KvLayout* const in_place = find_kv_layout("paged32");
  return geometry.layout != nullptr ? *geometry.layout : *in_place;
}

}  // namespace millrace::backend::cpu
