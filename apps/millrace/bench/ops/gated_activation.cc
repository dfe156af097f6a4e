#include "bench/kernel_op.h"

namespace millrace::bench::ops {
namespace {

void cases(const KernelSizes& sizes, const KernelContext& context, const std::function<void(KernelCase)>& visit) {
  for (const KernelSizes::Matrix& shape : sizes.shapes) {
    for (const std::int64_t rows : sizes.rows) {
      const Buffer x = random_matrix(context.backend, rows, 2 * shape.n, 10),
                   out = random_matrix(context.backend, rows, shape.n, 11);
      KernelCase c;
      c.labels = {{"width", shape.n}, {"rows", rows}, {"activation", "silu"}};
      c.what = fmt::format("silu {}", shape.n);
      c.rows = rows;
      c.bytes = 8.0 * static_cast<double>(rows * shape.n);
      c.run = [&] {
        context.backend.gated_activation(backend::Activation::kSilu, matrix_view(x, rows, 2 * shape.n),
                                         matrix_view(out, rows, shape.n));
      };
      visit(std::move(c));
    }
  }
}

}  // namespace

KernelOp gated_activation() {
  return {"gated_activation", "silu(gate) * up, as wide as the outputs of --shape, in cache", cases};
}

}  // namespace millrace::bench::ops
