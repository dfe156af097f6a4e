#include "bench/row_kernels.h"

namespace millrace::bench::ops {
namespace {

void activation_cases(const KernelSizes& sizes, const KernelContext& context,
                      const std::function<void(KernelCase)>& visit) {
  RowKernels rows_of(context);
  for (const KernelSizes::Matrix& shape : sizes.shapes) {
    const std::int64_t n = shape.n;
    for (const std::int64_t rows : sizes.rows) {
      const backend::DeviceBuffer gate = random_matrix(context.backend, rows, n, 10),
                                  up = random_matrix(context.backend, rows, n, 11);
      const backend::DeviceBuffer out = random_matrix(context.backend, rows, n, 12);
      KernelCase c;
      c.labels = {{"width", n}, {"rows", rows}, {"activation", "silu"}};
      c.what = fmt::format("silu {}", n);
      c.rows = rows;
      c.bytes = 8.0 * static_cast<double>(rows * n);
      c.run = [&] {
        rows_of.run(rows, [&](std::int64_t r) {
          rows_of.kernels().activate(backend::Activation::kSilu, {}, floats(gate) + r * n, floats(up) + r * n, n,
                                     floats(out) + r * n);
        });
      };
      visit(std::move(c));
    }
  }
}

}  // namespace

KernelOp activation() {
  return {"activation", "silu(gate) * up on rows of the output size of --shape, in CPU cache", activation_cases};
}

}  // namespace millrace::bench::ops
