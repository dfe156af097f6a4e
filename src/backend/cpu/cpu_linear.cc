// A product as phases of the step's program.

#include <algorithm>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/hidden_columns.h"
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
  if (ranks_ != nullptr && !options.exchanged.borders.empty()) {
    const bool has_norm = options.norm && options.norm->weight;
    if (!has_norm && options.adapters.empty() && weight.activation_form().can_be_cut(options.exchanged.borders)) {
      hidden_.reserve(ActivationRows(weight.activation_form(), rows, nullptr).bytes());
      const CutRows cut{.weight = &weight, .rows = rows, .memory = &hidden_, .kernels = &kernels_, .source = x};
      ranks_->record(*program_, options.exchanged, cut);
      return record_product(cut, output);
    }
    ranks_->record(*program_, options.exchanged, x);
  }
  record_product(source, weight, output);
}

void CpuBackend::record_product(const RowSource& source, const PackedLinear& weight, const ProductOutput& output) {
  const std::int64_t rows = source.rows(), block = row_block(rows, threads());
  if (block == 0) return products_.multiply_columns(*program_, source, weight, output);
  products_.reserve_block(weight, block, output.adapters);
  const ApartRows apart = products_.apart_rows(output.adapters, output.accumulate, rows, weight.n());
  program_->add_tasks((rows + block - 1) / block, [=, this, &weight](std::int64_t i, int worker) {
    const std::int64_t first = i * block;
    products_.multiply_rows(source, weight, output, apart, first, std::min(block, rows - first), worker);
  });
}

// The product of rows in its form, without adapters.
void CpuBackend::record_product(const CutRows& of, const ProductOutput& output) {
  const auto multiply = [=](const ActivationRows& x, std::int64_t first, std::int64_t begin, std::int64_t end) {
    const TensorView& out = output.rows;
    of.weight->multiply(begin, end,
                        {.x = x,
                         .bias = output.bias,
                         .accumulate = output.accumulate,
                         .out = out.row(first) + of.weight->column(begin),
                         .out_stride = out.row_stride()});
  };
  const std::int64_t panels = of.weight->panels(), block = row_block(of.rows, threads());
  if (block > 0) {
    return program_->add_tasks((of.rows + block - 1) / block, [=](std::int64_t i, int) {
      const std::int64_t first = i * block;
      multiply(of.view().part(first, std::min(block, of.rows - first)), first, 0, panels);
    });
  }
  const std::uint64_t contents = new_contents();
  program_->add_split(panels, kColumnGrain, [=](std::int64_t begin, std::int64_t end, int) {
    multiply(of.view().with_contents(contents), 0, begin, end);
  });
}

}  // namespace millrace::backend::cpu
