#include "backend/cpu/kv_encoding.h"

#include <algorithm>

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

}  // namespace millrace::backend::cpu
