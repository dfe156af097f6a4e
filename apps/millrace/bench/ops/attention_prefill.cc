#include <algorithm>
#include <cmath>

#include "bench/paged_keys.h"

namespace millrace::bench::ops {
namespace {

// A chunk of a prompt: the last `rows` tokens of one sequence of `context` tokens, or of `rows` if those are more.
void cases(const KernelSizes& sizes, const KernelContext& context, const std::function<void(KernelCase)>& visit) {
  const std::int64_t width = sizes.heads * sizes.head_dim;
  for (const std::string& dtype : sizes.kv_dtypes) {
    for (const std::int64_t asked : sizes.contexts) {
      for (const std::int64_t rows : sizes.rows) {
        const std::int64_t tokens = std::max(asked, rows);
        PagedKeys keys(sizes, context, dtype, 1, tokens);
        const backend::SequenceRows sequence{
            .first_row = 0, .n_rows = rows, .first_position = tokens - rows, .pages = keys.pages_of(0)};
        const Buffer q = random_matrix(context.backend, rows, width, 5),
                     out = random_matrix(context.backend, rows, width, 6);
        const double visible = static_cast<double>(tokens) - static_cast<double>(rows - 1) / 2.0;  // of an average row
        KernelCase c;
        c.labels = {{"kv_cache_dtype", dtype}, {"context", tokens},          {"rows", rows},
                    {"heads", sizes.heads},    {"kv_heads", sizes.kv_heads}, {"head_dim", sizes.head_dim}};
        c.what = fmt::format("{} keys {} heads {}:{}:{}", dtype, tokens, sizes.heads, sizes.kv_heads, sizes.head_dim);
        c.rows = rows;
        c.bytes = keys.layer_bytes();
        c.from_memory = true;
        c.operations = 4.0 * visible * static_cast<double>(rows * width);
        c.arithmetic = attention_arithmetic(dtype);
        c.run = [&] {
          context.backend.attend({.q = matrix_view(q, rows, width),
                                  .sequences = std::span(&sequence, 1),
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

KernelOp attention_prefill() {
  return {"attention_prefill", "the last `rows` tokens of one sequence over `context` keys and values", cases};
}

}  // namespace millrace::bench::ops
