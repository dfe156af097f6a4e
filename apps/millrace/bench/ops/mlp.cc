#include "bench/made_weights.h"

namespace millrace::bench::ops {
namespace {

struct Weights {
  std::unique_ptr<backend::Linear> up, down;
  std::size_t bytes() const noexcept { return up->packed_bytes() + down->packed_bytes(); }
};

// --shape is that of gate and up stacked: half its outputs are the inputs of down.
Weights make_weights(const KernelSizes& sizes, const KernelContext& context, const quant::QuantFormat& format,
                     const KernelSizes::Matrix& shape) {
  return {made_weight(context, format, shape, sizes.precision),
          made_weight(context, format, {.n = shape.k, .k = shape.n / 2}, sizes.precision)};
}

void mlp_cases_of_weights(const KernelSizes& sizes, const KernelContext& context, const quant::QuantFormat& format,
                          const KernelSizes::Matrix& shape, const std::function<void(KernelCase)>& visit) {
  std::vector<Weights> weights;
  weights.push_back(make_weights(sizes, context, format, shape));
  const auto bytes = static_cast<double>(weights.front().bytes());
  for (std::int64_t i = copies_of(context, bytes, "shape"); i > 1; --i) {
    weights.push_back(make_weights(sizes, context, format, shape));
  }
  const std::vector<float> ones(static_cast<std::size_t>(shape.k), 1.0f);
  const backend::DeviceVector norm = context.backend.make_vector(ones);
  std::size_t next = 0;
  for (const std::int64_t rows : sizes.rows) {
    const backend::DeviceBuffer x = random_matrix(context.backend, rows, shape.k, 7);
    KernelCase c;
    c.labels = {{"format", format.name},
                {"hidden", shape.k},
                {"width", shape.n / 2},
                {"rows", rows},
                {"kernel", weights.front().up->description()},
                {"weight_bytes", weights.front().bytes()}};
    c.what = fmt::format("{} {} of {}", format.name, shape.n / 2, shape.k);
    c.rows = rows;
    c.bytes = bytes;
    c.from_memory = true;
    c.operations = 3.0 * static_cast<double>(rows * shape.n) * static_cast<double>(shape.k);
    c.arithmetic = backend::arithmetic_of(weights.front().up->description());
    c.run = [&] {
      context.backend.mlp(
          {.norm = {.weight = norm.address()}, .up = weights[next].up.get(), .down = weights[next].down.get()},
          matrix_view(x, rows, shape.k), matrix_view(x, rows, shape.k));
      context.backend.synchronize();
      next = (next + 1) % weights.size();
    };
    visit(std::move(c));
  }
}

void mlp_cases(const KernelSizes& sizes, const KernelContext& context, const std::function<void(KernelCase)>& visit) {
  for (const KernelSizes::Matrix& shape : sizes.shapes) {
    if (shape.n % 2 != 0) {
      throw_load_error(ErrorCode::kInvalidArgument, "shape",
                       "shape is {}x{}: mlp stacks gate and up, an even number of outputs", shape.n, shape.k);
    }
    for (const quant::QuantFormat* format : sizes.formats) mlp_cases_of_weights(sizes, context, *format, shape, visit);
  }
}

}  // namespace

KernelOp mlp() {
  return {"mlp", "whole MLP block: norm, gate and up projection (--shape), SiLU, down projection, residual", mlp_cases};
}

}  // namespace millrace::bench::ops
