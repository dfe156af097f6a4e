// Keys as vectors of 16 bytes, values by dimension, pages of 16 tokens: the layout of vLLM's first paged attention. Per
// head with x = 16 bytes of elements: keys [columns/x][B][x], values [columns][B], then the scales.
#include <cstring>

#include "backend/cpu/kv_layout.h"

namespace millrace::backend::cpu::kv_layouts {
namespace {

// Of a head, in bytes.
struct Parts {
  std::int64_t element, key, value, values, scales;  // of one token; where the values and the scales begin
  Parts(const TileForm& form, std::int64_t block_tokens) noexcept
      : element(form.element),
        key(form.key_bytes()),
        value(form.value_bytes()),
        values(block_tokens * key),
        scales(values + block_tokens * value) {}
};

void write(const KvGeometry& geometry, std::byte* head, std::int64_t slot, const KvToken& token) {
  const Parts parts(tile_form(geometry), geometry.block_tokens);
  for (std::int64_t at = 0; at < parts.key; at += kPiece) {
    std::memcpy(head + at * geometry.block_tokens + slot * kPiece, token.key + at, kPiece);
  }
  std::byte* value = head + parts.values + slot * parts.element;
  for (std::int64_t at = 0; at < parts.value; at += parts.element) {
    std::memcpy(value + at * geometry.block_tokens, token.value + at, static_cast<std::size_t>(parts.element));
  }
  write_scales(geometry, head, parts.scales, slot, token);
}

// Whether `count` tokens lie side by side.
bool are_neighbours(const KvSlot* tokens, std::int64_t count) noexcept {
  for (std::int64_t t = 1; t < count; ++t) {
    if (tokens[t].head != tokens[0].head || tokens[t].slot != tokens[0].slot + t) return false;
  }
  return true;
}

void gather(const KvGeometry& geometry, const KvSlot* tokens, std::byte* tile) {
  const TileForm form = tile_form(geometry);
  const Parts parts(form, geometry.block_tokens);
  const std::int64_t together = kPiece / parts.element, stride = geometry.block_tokens * parts.element;
  const std::byte* keys[kTileTokens];
  for (std::int64_t t = 0; t < kTileTokens; ++t) keys[t] = tokens[t].head + tokens[t].slot * kPiece;
  gather_keys(form, keys, kPiece * geometry.block_tokens, tile);
  for (std::int64_t t = 0; t < kTileTokens; t += together) {
    const std::byte* values = tokens[t].head + parts.values + tokens[t].slot * parts.element;
    if (are_neighbours(tokens + t, together)) {
      gather_value_columns(form, values, stride, t, tile);
      continue;
    }
    // Pages of fewer tokens than a piece has: dimension by dimension, side by side after all.
    alignas(kPiece) std::byte columns[kMaxValueDim * kPiece];
    for (std::int64_t i = 0; i < together; ++i) {
      const std::byte* value = tokens[t + i].head + parts.values + tokens[t + i].slot * parts.element;
      for (std::int64_t d = 0; d < form.value_columns; ++d) {
        std::memcpy(columns + d * kPiece + i * parts.element, value + d * stride,
                    static_cast<std::size_t>(parts.element));
      }
    }
    gather_value_columns(form, columns, kPiece, t, tile);
  }
  gather_scales(geometry, tokens, parts.scales, tile);
}

}  // namespace

KvLayout vector16() {
  return {.name = "vector16",
          .description = "keys as vectors of 16 bytes, values by dimension, 16 tokens a page (vLLM)",
          .block_tokens = 16,
          .fits = [](std::int64_t block_tokens) { return block_tokens > 0; },
          .block_sizes = "any number of",
          .write = write,
          .gather = gather};
}

}  // namespace millrace::backend::cpu::kv_layouts
