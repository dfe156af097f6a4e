#include "bench/paged_keys.h"

namespace millrace::bench::ops {
namespace {

// One new token of each of `rows` sequences: the pages it goes to are not in the cache.
void cases(const KernelSizes& sizes, const KernelContext& context, const std::function<void(KernelCase)>& visit) {
  const std::int64_t width = sizes.kv_heads * sizes.head_dim;
  for (const std::string& dtype : sizes.kv_dtypes) {
    for (const std::int64_t tokens : sizes.contexts) {
      for (const std::int64_t rows : decoding_rows(sizes)) {
        PagedKeys keys(sizes, context, dtype, rows, tokens);
        std::vector<backend::SequenceRows> sequences;
        for (std::int64_t s = 0; s < rows; ++s) {
          sequences.push_back({.first_row = s, .n_rows = 1, .first_position = tokens - 1, .pages = keys.pages_of(s)});
        }
        const Buffer k = random_matrix(context.backend, rows, width, 13),
                     v = random_matrix(context.backend, rows, width, 14);
        KernelCase c;
        c.labels = {{"kv_cache_dtype", dtype},
                    {"context", tokens},
                    {"rows", rows},
                    {"kv_heads", sizes.kv_heads},
                    {"head_dim", sizes.head_dim}};
        c.what = fmt::format("{} heads {}:{}", dtype, sizes.kv_heads, sizes.head_dim);
        c.rows = rows;
        c.bytes = 8.0 * static_cast<double>(rows * width);
        c.run = [&] {
          context.backend.write_kv(matrix_view(k, rows, width), matrix_view(v, rows, width), sequences,
                                   keys.next_layer());
        };
        visit(std::move(c));
      }
    }
  }
}

}  // namespace

KernelOp write_kv() { return {"write_kv", "storing one token's keys and values of each of `rows` sequences", cases}; }

}  // namespace millrace::bench::ops
