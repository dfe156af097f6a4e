// Tokens as rows, pages of a single one unless asked: the token-granular cache of LightLLM, which wastes no slot and
// shares prefixes to the token. Per head: the elements of keys [B][columns], of values [B][columns], then the scales.
#include <cstring>

#include "backend/cpu/kv_layout.h"

namespace millrace::backend::cpu::kv_layouts {
namespace {

// Of a head, in bytes.
struct Parts {
  std::int64_t key, value, values, scales;  // of one token; where the values and the scales begin
  Parts(const TileForm& form, std::int64_t block_tokens) noexcept
      : key(form.key_bytes()),
        value(form.value_bytes()),
        values(block_tokens * key),
        scales(values + block_tokens * value) {}
};

void write(const KvGeometry& geometry, std::byte* head, std::int64_t slot, const KvToken& token) {
  const Parts parts(tile_form(geometry), geometry.block_tokens);
  std::memcpy(head + slot * parts.key, token.key, static_cast<std::size_t>(parts.key));
  std::memcpy(head + parts.values + slot * parts.value, token.value, static_cast<std::size_t>(parts.value));
  write_scales(geometry, head, parts.scales, slot, token);
}

void gather(const KvGeometry& geometry, const KvSlot* tokens, std::byte* tile) {
  const TileForm form = tile_form(geometry);
  const Parts parts(form, geometry.block_tokens);
  const std::byte *keys[kTileTokens], *values[kTileTokens];
  for (std::int64_t t = 0; t < kTileTokens; ++t) {
    keys[t] = tokens[t].head + tokens[t].slot * parts.key;
    values[t] = tokens[t].head + parts.values + tokens[t].slot * parts.value;
  }
  gather_keys(form, keys, kPiece, tile);
  gather_value_rows(form, values, tile);
  gather_scales(geometry, tokens, parts.scales, tile);
}

}  // namespace

KvLayout token() {
  return {.name = "token",
          .description = "tokens as rows, one a page (LightLLM)",
          .block_tokens = 1,
          .fits = [](std::int64_t block_tokens) { return block_tokens > 0; },
          .block_sizes = "any number of",
          .write = write,
          .gather = gather};
}

}  // namespace millrace::backend::cpu::kv_layouts
