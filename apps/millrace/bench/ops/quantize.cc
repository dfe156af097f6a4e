#include "bench/row_kernels.h"

namespace millrace::bench::ops {
namespace {

using backend::cpu::kGroup;

// What products of quantized weights do first: activations to int8 in groups of 32.
void quantize_cases(const KernelSizes& sizes, const KernelContext& context,
                    const std::function<void(KernelCase)>& visit) {
  RowKernels rows_of(context);
  for (const KernelSizes::Matrix& shape : sizes.shapes) {
    if (shape.k % kGroup != 0) {
      throw_load_error(ErrorCode::kInvalidArgument, "shape", "shape is {}x{}: quantize takes a multiple of {} inputs",
                       shape.n, shape.k, kGroup);
    }
    for (const std::int64_t rows : sizes.rows) {
      const backend::DeviceBuffer x = random_matrix(context.backend, rows, shape.k, 15);
      KernelCase c;
      c.labels = {{"width", shape.k}, {"rows", rows}};
      c.what = fmt::format("int8 {}", shape.k);
      c.rows = rows;
      c.bytes = 4.0 * static_cast<double>(rows * shape.k);
      const auto groups =
          std::make_shared<std::vector<backend::cpu::Int8Group>>(static_cast<std::size_t>(rows * shape.k / kGroup));
      c.run = [&rows_of, &x, rows, k = shape.k, groups] {
        rows_of.run(rows, [&](std::int64_t r) {
          rows_of.kernels().quantize(floats(x) + r * k, k, backend::cpu::ActivationType::kInt8,
                                     groups->data() + r * (k / kGroup), 1);
        });
      };
      visit(std::move(c));
    }
  }
}

}  // namespace

KernelOp quantize() {
  return {"quantize", "quantization of activations to int8 in groups of 32, in CPU cache", quantize_cases};
}

}  // namespace millrace::bench::ops
