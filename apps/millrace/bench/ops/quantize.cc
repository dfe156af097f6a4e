#include <tuple>

#include "bench/row_kernels.h"

namespace millrace::bench::ops {
namespace {

using backend::cpu::kGroup;

// Beside codes the kernel writes what it keeps of a group: arrays of up to two entries each.
template <typename... Kept>
std::function<void()> quantize_rows(RowKernels& rows_of,
                                    void (*quantize)(const float*, std::int64_t, std::int8_t*, Kept*...),
                                    const Buffer& x, std::int64_t rows, std::int64_t k) {
  const auto codes = std::make_shared<std::vector<std::int8_t>>(static_cast<std::size_t>(rows * k));
  const auto kept = std::make_shared<std::tuple<std::vector<Kept>...>>(
      std::vector<Kept>(static_cast<std::size_t>(2 * rows * k / kGroup))...);
  return [&rows_of, quantize, &x, rows, k, codes, kept] {
    rows_of.run(rows, [&](std::int64_t r) {
      std::apply(
          [&](auto&... arrays) {
            quantize(x.as<float>() + r * k, k, codes->data() + r * k, (arrays.data() + 2 * r * k / kGroup)...);
          },
          *kept);
    });
  };
}

// What products of quantized weights do first: activations to int8 in groups of 32.
void cases(const KernelSizes& sizes, const KernelContext& context, const std::function<void(KernelCase)>& visit) {
  RowKernels rows_of(context);
  for (const KernelSizes::Matrix& shape : sizes.shapes) {
    if (shape.k % kGroup != 0) {
      throw_load_error(ErrorCode::kInvalidArgument, "shape", "shape is {}x{}: quantize takes a multiple of {} inputs",
                       shape.n, shape.k, kGroup);
    }
    for (const std::int64_t rows : sizes.rows) {
      const Buffer x = random_matrix(context.backend, rows, shape.k, 15);
      KernelCase c;
      c.labels = {{"width", shape.k}, {"rows", rows}};
      c.what = fmt::format("int8 {}", shape.k);
      c.rows = rows;
      c.bytes = 4.0 * static_cast<double>(rows * shape.k);
      c.run = quantize_rows(rows_of, rows_of.kernels().quantize, x, rows, shape.k);
      visit(std::move(c));
    }
  }
}

}  // namespace

KernelOp quantize() { return {"quantize", "activations to int8 in groups of 32, in cache", cases}; }

}  // namespace millrace::bench::ops
