// Tokens as rows, pages of a single one unless asked: the token-granular cache of LightLLM, which wastes no slot and
// shares prefixes to the token. Per head: keys [B][D], values [B][D], i8: key scales [B], value scales [B].
#include <cstring>

#include "backend/cpu/kv_layout.h"

namespace millrace::backend::cpu::kv_layouts {
namespace {

struct Rows {
  std::size_t row_bytes, values, scales;  // offsets from the head's part
  explicit Rows(const KvGeometry& g) noexcept
      : row_bytes(static_cast<std::size_t>(g.head_dim) * size_of(g.dtype)),
        values(static_cast<std::size_t>(g.block_tokens) * row_bytes),
        scales(2 * values) {}
};

void write(const KvGeometry& geometry, std::byte* head, std::int64_t slot, const KvToken& token) {
  const Rows rows(geometry);
  const auto at = static_cast<std::size_t>(slot);
  std::memcpy(head + at * rows.row_bytes, token.key, rows.row_bytes);
  std::memcpy(head + rows.values + at * rows.row_bytes, token.value, rows.row_bytes);
  write_scales(geometry, head + rows.scales, slot, token);
}

void gather(const KvGeometry& geometry, const std::byte* head, std::int64_t slot, std::int64_t count, std::byte* tile,
            std::int64_t first) {
  const Rows rows(geometry);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(slot + i);
    KvToken token{head + at * rows.row_bytes, head + rows.values + at * rows.row_bytes, 0.0f, 0.0f};
    read_scales(geometry, head + rows.scales, slot + i, token);
    write_to_tile(geometry.dtype, geometry.head_dim, first + i, token, tile);
  }
}

}  // namespace

KvLayout token() {
  return {.name = "token",
          .description = "tokens as rows, one a page (LightLLM)",
          .block_tokens = 1,
          .fits = [](std::int64_t block_tokens) { return block_tokens > 0; },
          .write = write,
          .gather = gather};
}

}  // namespace millrace::backend::cpu::kv_layouts
