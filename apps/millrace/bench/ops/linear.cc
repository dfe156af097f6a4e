#include "bench/made_weights.h"

namespace millrace::bench::ops {
namespace {

void linear_cases_of_weight(const KernelSizes& sizes, const KernelContext& context, const quant::QuantFormat& format,
                            const KernelSizes::Matrix& shape, const std::function<void(KernelCase)>& visit) {
  std::vector<std::unique_ptr<backend::Linear>> weights;
  weights.push_back(made_weight(context, format, shape, sizes.precision));
  const auto bytes = static_cast<double>(weights.front()->packed_bytes());
  for (std::int64_t i = copies_of(context, bytes, "shape"); i > 1; --i) {
    weights.push_back(made_weight(context, format, shape, sizes.precision));
  }
  const std::string dimensions = fmt::format("{}x{}", shape.n, shape.k);
  std::size_t next = 0;
  for (const std::int64_t rows : sizes.rows) {
    const backend::DeviceBuffer x = random_matrix(context.backend, rows, shape.k, 2);
    const backend::DeviceBuffer y = random_matrix(context.backend, rows, shape.n, 3);
    KernelCase c;
    c.labels = {{"format", format.name},
                {"shape", dimensions},
                {"rows", rows},
                {"kernel", weights.front()->description()},
                {"weight_bytes", weights.front()->packed_bytes()}};
    c.what = fmt::format("{} {}", format.name, dimensions);
    c.rows = rows;
    c.bytes = bytes;
    c.from_memory = true;
    c.operations = 2.0 * static_cast<double>(rows * shape.n) * static_cast<double>(shape.k);
    c.arithmetic = backend::arithmetic_of(weights.front()->description());
    c.run = [&] {
      context.backend.linear(*weights[next], {}, matrix_view(x, rows, shape.k), matrix_view(y, rows, shape.n));
      context.backend.synchronize();
      next = (next + 1) % weights.size();
    };
    visit(std::move(c));
  }
}

void linear_cases(const KernelSizes& sizes, const KernelContext& context,
                  const std::function<void(KernelCase)>& visit) {
  for (const KernelSizes::Matrix& shape : sizes.shapes) {
    for (const quant::QuantFormat* format : sizes.formats)
      linear_cases_of_weight(sizes, context, *format, shape, visit);
  }
}

}  // namespace

KernelOp linear() { return {"linear", "matrix product y = x W^T, by weight format, shape and rows", linear_cases}; }

}  // namespace millrace::bench::ops
