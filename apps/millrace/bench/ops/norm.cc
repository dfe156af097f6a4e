#include "bench/row_kernels.h"

namespace millrace::bench::ops {
namespace {

void norm_cases(const KernelSizes& sizes, const KernelContext& context, const std::function<void(KernelCase)>& visit) {
  RowKernels rows_of(context);
  for (const KernelSizes::Matrix& shape : sizes.shapes) {
    const std::int64_t k = shape.k;
    const backend::DeviceBuffer weight = random_matrix(context.backend, 1, k, 7);
    for (const std::int64_t rows : sizes.rows) {
      const backend::DeviceBuffer x = random_matrix(context.backend, rows, k, 8),
                                  out = random_matrix(context.backend, rows, k, 9);
      KernelCase c;
      c.labels = {{"width", k}, {"rows", rows}};
      c.what = fmt::format("rms {}", k);
      c.rows = rows;
      c.bytes = 4.0 * static_cast<double>(rows * k);
      c.run = [&] {
        rows_of.run(rows, [&](std::int64_t r) {
          rows_of.kernels().rms_norm(floats(x) + r * k, k, floats(weight), 1e-5f, floats(out) + r * k);
        });
      };
      visit(std::move(c));
    }
  }
}

}  // namespace

KernelOp norm() { return {"norm", "RMSNorm on rows of the input size of --shape, in CPU cache", norm_cases}; }

}  // namespace millrace::bench::ops
