#include "bench/kernel_op.h"

namespace millrace::bench::ops {
namespace {

void cases(const KernelSizes& sizes, const KernelContext& context, const std::function<void(KernelCase)>& visit) {
  for (const KernelSizes::Matrix& shape : sizes.shapes) {
    const Buffer weight = random_matrix(context.backend, 1, shape.k, 7);
    for (const std::int64_t rows : sizes.rows) {
      const Buffer x = random_matrix(context.backend, rows, shape.k, 8),
                   out = random_matrix(context.backend, rows, shape.k, 9);
      KernelCase c;
      c.labels = {{"width", shape.k}, {"rows", rows}};
      c.what = fmt::format("rms {}", shape.k);
      c.rows = rows;
      c.bytes = 4.0 * static_cast<double>(rows * shape.k);
      c.run = [&] {
        context.backend.norm({backend::NormKind::kRms, 1e-5f, weight.as<float>(), nullptr},
                             matrix_view(x, rows, shape.k), 1, matrix_view(out, rows, shape.k));
      };
      visit(std::move(c));
    }
  }
}

}  // namespace

KernelOp norm() { return {"norm", "RMSNorm of rows as wide as the inputs of --shape, in cache", cases}; }

}  // namespace millrace::bench::ops
