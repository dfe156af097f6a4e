#include "bench/made_weights.h"

#include <algorithm>

namespace millrace::bench {

// A few rows are made up and repeated: the search of the k-quants for their scales would take longer than everything
// else here, and no kernel's time depends on the values.
std::unique_ptr<backend::Linear> made_weight(const KernelContext& context, const quant::QuantFormat& format,
                                             const KernelSizes::Matrix& shape, backend::MatmulPrecision precision) {
  constexpr std::int64_t kDistinctRows = 16;
  if (shape.k % format.block_values != 0) {
    throw_load_error(ErrorCode::kInvalidArgument, "shape",
                     "shape asks for a weight of {}x{}: rows of {} have a multiple of {} values", shape.n, shape.k,
                     format.name, format.block_values);
  }
  if (format.pack == nullptr) {
    throw_load_error(ErrorCode::kInvalidArgument, "format", "format {} can be read but not written", format.name);
  }
  const std::vector<float> values = random_values(kDistinctRows * shape.k, 1);
  const std::size_t row_bytes = format.row_bytes(shape.k);
  std::vector<std::byte> rows(row_bytes * kDistinctRows);
  for (std::int64_t r = 0; r < kDistinctRows; ++r) {
    format.pack({values.data() + r * shape.k, static_cast<std::size_t>(shape.k)},
                rows.data() + static_cast<std::size_t>(r) * row_bytes);
  }
  backend::WeightSource source{
      .name = std::string(format.name), .format = &format, .rows = shape.n, .cols = shape.k, .read = {}};
  source.read = [&](std::int64_t first, std::int64_t count, std::span<std::byte> out) {
    for (std::int64_t r = 0; r < count; ++r) {
      const std::byte* row = rows.data() + static_cast<std::size_t>((first + r) % kDistinctRows) * row_bytes;
      std::copy(row, row + row_bytes, out.data() + static_cast<std::size_t>(r) * row_bytes);
    }
  };
  return context.backend.make_linear({source}, precision);
}

}  // namespace millrace::bench
