#include "bench/kernel_op.h"

namespace millrace::bench::ops {
namespace {

void cases(const KernelSizes& sizes, const KernelContext& context, const std::function<void(KernelCase)>& visit) {
  const std::int64_t width = (sizes.heads + sizes.kv_heads) * sizes.head_dim;
  for (const std::int64_t rows : sizes.rows) {
    const Buffer x = random_matrix(context.backend, rows, width, 12);
    const Buffer cos_sin =
        context.backend.allocate(static_cast<std::size_t>(rows * sizes.head_dim) * sizeof(float)).or_throw();
    // Angles of a right turn: values stay of the size they are however often they are rotated.
    for (std::int64_t i = 0; i < rows * sizes.head_dim; ++i) {
      cos_sin.as<float>()[i] = i % sizes.head_dim < sizes.head_dim / 2 ? 0.0f : 1.0f;
    }
    KernelCase c;
    c.labels = {{"rows", rows}, {"heads", sizes.heads}, {"kv_heads", sizes.kv_heads}, {"head_dim", sizes.head_dim}};
    c.what = fmt::format("heads {}+{}:{}", sizes.heads, sizes.kv_heads, sizes.head_dim);
    c.rows = rows;
    c.bytes = 4.0 * static_cast<double>(rows * width);
    c.run = [&] {
      context.backend.rope({matrix_view(x, rows, width), sizes.head_dim, sizes.head_dim, cos_sin.as<float>()});
    };
    visit(std::move(c));
  }
}

}  // namespace

KernelOp rope() { return {"rope", "rotary embedding of queries and keys, in cache", cases}; }

}  // namespace millrace::bench::ops
