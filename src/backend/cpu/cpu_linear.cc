// A product as phases of the step's program.

#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/row_blocks.h"
#include "base/check.h"

namespace millrace::backend::cpu {

void CpuBackend::linear(const Linear& linear, const LinearOptions& options, DeviceView from, DeviceView to) {
  const TensorView x = on_host(from), out = on_host(to);
  const auto& weight = static_cast<const PackedLinear&>(linear);
  const RowSource source(x, on_host(options.norm), options.rows);
  const std::int64_t rows = source.rows();
  DCHECK(x.cols() == weight.k() && out.cols() == weight.n() && rows == out.rows());
  if (rows == 0) return;
  const ProductOutput output{pointer(options.bias), options.accumulate, out, options.adapters};
  const std::int64_t block = row_block(rows, threads());
  if (block == 0) return products_.multiply_columns(*program_, source, weight, output);
  products_.reserve_block(weight, block, options.adapters);
  const ApartRows apart = products_.apart_rows(options.adapters, options.accumulate, rows, weight.n());
  program_->add_tasks((rows + block - 1) / block, [=, this, &weight](std::int64_t i, int worker) {
    const std::int64_t first = i * block;
    products_.multiply_rows(source, weight, output, apart, first, std::min(block, rows - first), worker);
  });
}

}  // namespace millrace::backend::cpu
