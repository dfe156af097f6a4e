// Pages of 32 tokens, or a multiple, as the kernels read them: no copying.
#include "backend/cpu/kv_layout.h"

namespace millrace::backend::cpu::kv_layouts {
namespace {

void write(const KvGeometry& geometry, std::byte* head, std::int64_t slot, const KvToken& token) {
  const TileForm form = tile_form(geometry);
  write_to_tile(form, slot % kTileTokens, token, head + static_cast<std::size_t>(slot / kTileTokens) * form.bytes());
}

}  // namespace

KvLayout paged32() {
  return {.name = "paged32",
          .description = "tiles of 32 tokens in the kernels' own form, read in place",
          .block_tokens = kTileTokens,
          .fits = [](std::int64_t block_tokens) { return block_tokens > 0 && block_tokens % kTileTokens == 0; },
          .block_sizes = "a multiple of 32",
          .write = write,
          .gather = nullptr};
}

}  // namespace millrace::backend::cpu::kv_layouts
