// Tokens as rows, pages of a single one unless asked: the token-granular cache of LightLLM, which wastes no slot and
// shares prefixes to the token. Per head: keys [B][Pk], values [B][Pv], i8: key scales [B], value scales [B].
#include <cstring>

#include "backend/cpu/kv_layout.h"

namespace millrace::backend::cpu::kv_layouts {
namespace {

// Of a head, in bytes.
struct Parts {
  std::int64_t key, value, values, scales;  // of one token; where the values and the scales begin
  explicit Parts(const KvGeometry& g) noexcept
      : key(g.padded_key_dim() * static_cast<std::int64_t>(size_of(g.dtype))),
        value(g.padded_value_dim() * static_cast<std::int64_t>(size_of(g.dtype))),
        values(g.block_tokens * key),
        scales(values + g.block_tokens * value) {}
};

void write(const KvGeometry& geometry, std::byte* head, std::int64_t slot, const KvToken& token) {
  const Parts parts(geometry);
  std::memcpy(head + slot * parts.key, token.key, static_cast<std::size_t>(parts.key));
  std::memcpy(head + parts.values + slot * parts.value, token.value, static_cast<std::size_t>(parts.value));
  write_scales(geometry, head, parts.scales, slot, token);
}

void gather(const KvGeometry& geometry, const KvSlot* tokens, std::byte* tile) {
  const Parts parts(geometry);
  const TileForm form = tile_form(geometry);
  const std::byte *keys[kTileTokens], *values[kTileTokens];
  for (std::int64_t t = 0; t < kTileTokens; ++t) {
    keys[t] = tokens[t].head + tokens[t].slot * parts.key;
    values[t] = keys[t] + parts.values;
  }
  const std::int64_t longer = parts.value - parts.key;
  for (std::int64_t t = 0; longer != 0 && t < kTileTokens; ++t) values[t] += tokens[t].slot * longer;
  gather_keys(form.type, form.key_dim, keys, kPiece, tile);
  gather_value_rows(form.type, form.value_dim, values, tile + form.values_at());
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
