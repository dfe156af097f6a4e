#include "bench/made_weights.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace millrace::bench {
namespace {

// Random bytes for a format that is only read, drawn again until the values of a block are finite and no scale is very
// small.
void fill_with_blocks(const quant::QuantFormat& format, std::span<std::byte> rows) {
  std::mt19937 random(1);
  std::vector<float> values(static_cast<std::size_t>(format.block_values));
  const auto is_sound = [](float v) { return v == 0.0f || (std::isfinite(v) && std::fabs(v) > 1e-6f); };
  for (auto left = rows; !left.empty(); left = left.subspan(static_cast<std::size_t>(format.block_bytes))) {
    do {
      for (std::byte& b : left.first(static_cast<std::size_t>(format.block_bytes)))
        b = static_cast<std::byte>(random());
      format.unpack(left.data(), values);
    } while (!std::ranges::all_of(values, is_sound));
  }
}

}  // namespace

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
  const std::size_t row_bytes = format.row_bytes(shape.k);
  std::vector<std::byte> rows(row_bytes * kDistinctRows);
  if (format.pack == nullptr) {
    fill_with_blocks(format, rows);
  } else {
    const std::vector<float> values = random_values(kDistinctRows * shape.k, 1);
    format.pack(values, rows.data());
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
