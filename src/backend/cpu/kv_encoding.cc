#include "backend/cpu/kv_encoding.h"

#include <algorithm>
#include <string>

#include "backend/device_kind.h"

namespace millrace::backend::cpu {

const KvEncoding* find_kv_encoding(std::string_view name) noexcept {
  for (const KvEncoding& encoding : all_kv_encodings()) {
    if (encoding.name == name || std::ranges::find(encoding.aliases, name) != encoding.aliases.end()) return &encoding;
  }
  return nullptr;
}

const KvEncoding& encoding_of(const KvGeometry& geometry) noexcept {
  static const KvEncoding* const usual = find_kv_encoding("bf16");
  return geometry.encoding != nullptr ? *geometry.encoding : *usual;
}

TileForm tile_form(const KvGeometry& geometry) noexcept {
  return encoding_of(geometry).form(geometry.padded_key_dim(), geometry.padded_value_dim());
}

std::int64_t KvGeometry::padded(std::int64_t head_dim) const noexcept {
  const std::int64_t granule = encoding_of(*this).granule;
  return (head_dim + granule - 1) / granule * granule;
}

std::size_t KvGeometry::head_bytes() const noexcept {
  return static_cast<std::size_t>(block_tokens * tile_form(*this).token_bytes());
}

bool KvGeometry::rotates() const noexcept { return encoding_of(*this).rotates; }

KvGeometry geometry_of(const KvFormat& format) noexcept {
  const KvEncoding* encoding = find_kv_encoding(format.encoding);
  const bool scaled = encoding != nullptr && encoding->takes_scales;  // others store keys and values as they are
  return {.encoding = encoding,
          .kv_heads = format.kv_heads,
          .key_dim = format.key_dim,
          .value_dim = format.value_dim,
          .block_tokens = format.block_tokens,
          .layout = format.layout.empty() ? nullptr : find_kv_layout(format.layout),
          .key_scale = scaled ? format.key_scale : 0.0f,
          .value_scale = scaled ? format.value_scale : 0.0f};
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

}  // namespace millrace::backend::cpu
