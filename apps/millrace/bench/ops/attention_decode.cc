#include <cmath>

#include "bench/paged_keys.h"

namespace millrace::bench::ops {
namespace {

// Decoding: each of `rows` sequences has one new token that looks back on `context` tokens.
void cases(const KernelSizes& sizes, const KernelContext& context, const std::function<void(KernelCase)>& visit) {
  const std::int64_t width = sizes.heads * sizes.head_dim;
  for (const std::string& dtype : sizes.kv_dtypes) {
    for (const std::int64_t tokens : sizes.contexts) {
      for (const std::int64_t rows : decoding_rows(sizes)) {
        PagedKeys keys(sizes, context, dtype, rows, tokens);
        std::vector<backend::SequenceRows> sequences;
        for (std::int64_t s = 0; s < rows; ++s) {
          sequences.push_back({.first_row = s, .n_rows = 1, .first_position = tokens - 1, .pages = keys.pages_of(s)});
        }
        const Buffer q = random_matrix(context.backend, rows, width, 5),
                     out = random_matrix(context.backend, rows, width, 6);
        KernelCase c;
        c.labels = {{"kv_cache_dtype", dtype}, {"context", tokens},          {"rows", rows},
                    {"heads", sizes.heads},    {"kv_heads", sizes.kv_heads}, {"head_dim", sizes.head_dim}};
        c.what = fmt::format("{} keys {} heads {}:{}:{}", dtype, tokens, sizes.heads, sizes.kv_heads, sizes.head_dim);
        c.rows = rows;
        c.bytes = keys.layer_bytes();
        c.from_memory = true;
        c.operations = 4.0 * static_cast<double>(rows * tokens * width);
        c.arithmetic = attention_arithmetic(dtype);
        c.run = [&] {
          context.backend.attend({.q = matrix_view(q, rows, width),
                                  .sequences = sequences,
                                  .kv = keys.next_layer(),
                                  .heads = sizes.heads,
                                  .scale = 1.0f / std::sqrt(static_cast<float>(sizes.head_dim))},
                                 matrix_view(out, rows, width));
          context.backend.synchronize();
        };
        visit(std::move(c));
      }
    }
  }
}

}  // namespace

KernelOp attention_decode() {
  return {"attention_decode", "one new token of each of `rows` sequences over `context` keys and values", cases};
}

}  // namespace millrace::bench::ops
