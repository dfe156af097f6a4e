#include <algorithm>

#include "bench/row_kernels.h"

namespace millrace::bench::ops {
namespace {

void rope_cases(const KernelSizes& sizes, const KernelContext& context, const std::function<void(KernelCase)>& visit) {
  RowKernels rows_of(context);
  const std::int64_t heads = sizes.heads + sizes.kv_heads, head_dim = sizes.head_dim;
  // Cosines 0 and sines 1, a right turn: values stay of the size they are however often they are rotated.
  std::vector<float> cos_sin(static_cast<std::size_t>(head_dim), 1.0f);
  std::fill_n(cos_sin.begin(), head_dim / 2, 0.0f);
  for (const std::int64_t rows : sizes.rows) {
    const backend::DeviceBuffer x = random_matrix(context.backend, rows, heads * head_dim, 13);
    KernelCase c;
    c.labels = {{"rows", rows}, {"heads", sizes.heads}, {"kv_heads", sizes.kv_heads}, {"head_dim", head_dim}};
    c.what = fmt::format("heads {}+{}:{}", sizes.heads, sizes.kv_heads, head_dim);
    c.rows = rows;
    c.bytes = 4.0 * static_cast<double>(rows * heads * head_dim);
    c.run = [&] {
      rows_of.run(rows, [&](std::int64_t r) {
        for (std::int64_t h = 0; h < heads; ++h) {
          rows_of.kernels().rope(floats(x) + (r * heads + h) * head_dim, head_dim, cos_sin.data());
        }
      });
    };
    visit(std::move(c));
  }
}

}  // namespace

KernelOp rope() { return {"rope", "rotary embedding of queries and keys, in CPU cache", rope_cases}; }

}  // namespace millrace::bench::ops
