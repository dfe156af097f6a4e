// Tokens as rows, pages of a single one unless asked: the token-granular cache of LightLLM, which wastes no slot and
// shares prefixes to the token. Per head: keys [B][P], values [B][P], i8: key scales [B], value scales [B].
#include <cstring>

#include "backend/cpu/kv_layout.h"

namespace millrace::backend::cpu::kv_layouts {
namespace {

// Of a head, in bytes.
struct Parts {
  std::int64_t row, values, scales;  // of one token; where the values and the scales begin
  explicit Parts(const KvGeometry& g) noexcept
      : row(g.padded_dim() * static_cast<std::int64_t>(size_of(g.dtype))),
        values(g.block_tokens * row),
        scales(2 * values) {}
};

void write(const KvGeometry& geometry, std::byte* head, std::int64_t slot, const KvToken& token) {
  const Parts parts(geometry);
  std::memcpy(head + slot * parts.row, token.key, static_cast<std::size_t>(parts.row));
  std::memcpy(head + parts.values + slot * parts.row, token.value, static_cast<std::size_t>(parts.row));
  write_scales(geometry, head, parts.scales, slot, token);
}

void gather(const KvGeometry& geometry, const KvSlot* tokens, std::byte* tile) {
  const Parts parts(geometry);
  const std::byte *keys[kTileTokens], *values[kTileTokens];
  for (std::int64_t t = 0; t < kTileTokens; ++t) {
    keys[t] = tokens[t].head + tokens[t].slot * parts.row;
    values[t] = keys[t] + parts.values;
  }
  gather_keys(geometry.dtype, geometry.padded_dim(), keys, kPiece, tile);
  gather_value_rows(geometry.dtype, geometry.padded_dim(), values, tile);
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
