#include "bench/kernel_op.h"

namespace millrace::bench::ops {
namespace {

// Rows that are made up for a weight; the rest repeats them. The search of the k-quants for their scales takes longer
// than everything else here, and no kernel's time depends on the values.
constexpr std::int64_t kDistinctRows = 16;

backend::WeightSource repeated_rows(const KernelContext& context, const quant::QuantFormat& format,
                                    const KernelSizes::Matrix& shape) {
  const Buffer values = random_matrix(context.backend, kDistinctRows, shape.k, 1);
  const std::size_t row_bytes = format.row_bytes(shape.k);
  auto rows = std::make_shared<std::vector<std::byte>>(row_bytes * kDistinctRows);
  for (std::int64_t r = 0; r < kDistinctRows; ++r) {
    format.pack({values.as<float>() + r * shape.k, static_cast<std::size_t>(shape.k)},
                rows->data() + static_cast<std::size_t>(r) * row_bytes);
  }
  backend::WeightSource source{
      .name = std::string(format.name), .format = &format, .rows = shape.n, .cols = shape.k, .read = {}};
  source.read = [rows, row_bytes](std::int64_t first, std::int64_t count, std::span<std::byte> out) {
    for (std::int64_t r = 0; r < count; ++r) {
      const std::byte* row = rows->data() + static_cast<std::size_t>((first + r) % kDistinctRows) * row_bytes;
      std::copy(row, row + row_bytes, out.data() + static_cast<std::size_t>(r) * row_bytes);
    }
  };
  return source;
}

void cases_of_weight(const KernelSizes& sizes, const KernelContext& context, const quant::QuantFormat& format,
                     const KernelSizes::Matrix& shape, const std::function<void(KernelCase)>& visit) {
  const backend::WeightSource source = repeated_rows(context, format, shape);
  const std::size_t bytes = context.backend.packed_bytes(format, shape.n, shape.k, sizes.precision);
  const std::int64_t copies = copies_of(context, static_cast<double>(bytes), "shape");
  std::vector<std::unique_ptr<backend::Linear>> weights;
  for (std::int64_t i = 0; i < copies; ++i) {
    weights.push_back(context.backend.make_linear({source}, sizes.precision));
  }
  std::size_t next = 0;
  for (const std::int64_t rows : sizes.rows) {
    const Buffer x = random_matrix(context.backend, rows, shape.k, 2);
    const Buffer y = random_matrix(context.backend, rows, shape.n, 3);
    const std::string dimensions = fmt::format("{}x{}", shape.n, shape.k);
    KernelCase c;
    c.labels = {{"format", format.name},
                {"shape", dimensions},
                {"rows", rows},
                {"kernel", weights.front()->description()},
                {"weight_bytes", weights.front()->packed_bytes()}};
    c.what = fmt::format("{} {}", format.name, dimensions);
    c.rows = rows;
    c.bytes = static_cast<double>(weights.front()->packed_bytes());
    c.from_memory = true;
    c.operations = 2.0 * static_cast<double>(rows * shape.n) * static_cast<double>(shape.k);
    c.arithmetic = loadgen::arithmetic_of(weights.front()->description());
    c.run = [&] {
      context.backend.linear(*weights[next], matrix_view(x, rows, shape.k), nullptr, false,
                             matrix_view(y, rows, shape.n));
      next = (next + 1) % weights.size();
    };
    visit(std::move(c));
  }
}

void cases(const KernelSizes& sizes, const KernelContext& context, const std::function<void(KernelCase)>& visit) {
  for (const KernelSizes::Matrix& shape : sizes.shapes) {
    for (const quant::QuantFormat* format : sizes.formats) {
      if (shape.k % format->block_values != 0) {
        throw_load_error(ErrorCode::kInvalidArgument, "shape",
                         "shape is {}x{}: rows of {} have a multiple of {} values", shape.n, shape.k, format->name,
                         format->block_values);
      }
      cases_of_weight(sizes, context, *format, shape, visit);
    }
  }
}

}  // namespace

KernelOp linear() { return {"linear", "products y = x W^T by weight format, shape and rows", cases}; }

}  // namespace millrace::bench::ops
