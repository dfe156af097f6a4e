// Keys as vectors of 16 bytes, values by dimension, pages of 16 tokens: the layout of vLLM's first paged attention. Per
// head with x = 16 bytes of elements: keys [D/x][B][x], values [D][B], i8: key scales [B], value scales [B].
#include <cstring>

#include "backend/cpu/kv_layout.h"

namespace millrace::backend::cpu::kv_layouts {
namespace {

constexpr std::int64_t kVector = 16;

void write(const KvGeometry& geometry, std::byte* head, std::int64_t slot, const KvToken& token) {
  const auto size = static_cast<std::int64_t>(size_of(geometry.dtype)), row = geometry.head_dim * size;
  const std::int64_t block = geometry.block_tokens;
  for (std::int64_t at = 0; at < row; at += kVector) {
    std::memcpy(head + at * block + slot * kVector, token.key + at, kVector);
  }
  std::byte* values = head + row * block;
  for (std::int64_t d = 0; d < geometry.head_dim; ++d) {
    std::memcpy(values + (d * block + slot) * size, token.value + d * size, static_cast<std::size_t>(size));
  }
  write_scales(geometry, head + 2 * row * block, slot, token);
}

void gather(const KvGeometry& geometry, const std::byte* head, std::int64_t slot, std::int64_t count, std::byte* tile,
            std::int64_t first) {
  const auto size = static_cast<std::int64_t>(size_of(geometry.dtype)), row = geometry.head_dim * size;
  const std::int64_t block = geometry.block_tokens;
  alignas(kVector) std::byte key[4 * 256], value[4 * 256];  // the largest head_dim in f32
  for (std::int64_t t = slot; t < slot + count; ++t) {
    for (std::int64_t at = 0; at < row; at += kVector) {
      std::memcpy(key + at, head + at * block + t * kVector, kVector);
    }
    const std::byte* values = head + row * block;
    for (std::int64_t d = 0; d < geometry.head_dim; ++d) {
      std::memcpy(value + d * size, values + (d * block + t) * size, static_cast<std::size_t>(size));
    }
    KvToken token{key, value, 0.0f, 0.0f};
    read_scales(geometry, head + 2 * row * block, t, token);
    write_to_tile(geometry.dtype, geometry.head_dim, first + t - slot, token, tile);
  }
}

}  // namespace

KvLayout vector16() {
  return {.name = "vector16",
          .description = "keys as vectors of 16 bytes, values by dimension, 16 tokens a page (vLLM)",
          .block_tokens = 16,
          .fits = [](std::int64_t block_tokens) { return block_tokens > 0; },
          .write = write,
          .gather = gather};
}

}  // namespace millrace::backend::cpu::kv_layouts
