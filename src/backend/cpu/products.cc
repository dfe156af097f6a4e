#include "backend/cpu/products.h"

namespace millrace::backend::cpu {
namespace {

// Up to so many rows each worker prepares all of them for itself: cheaper than waiting for each other.
constexpr std::int64_t kOwnRows = 2;
constexpr std::int64_t kGrain = 2;  // panels

}  // namespace

Products::SharedInput Products::share_input(StepProgram& program, const RowSource& source, const PackedLinear& weight) {
  const std::int64_t rows = source.rows();
  const std::size_t bytes = ActivationRows(weight.activation_form(), rows, nullptr).bytes();
  const bool own = rows <= kOwnRows;
  workers_.reserve(WorkerMemory::row_bytes(weight.k()) + (own ? bytes : 0));
  if (own) return {source, &weight, new_contents(), true};
  input_.reserve(bytes);
  program.add_split(rows, 1, [this, source, &weight](std::int64_t begin, std::int64_t end, int worker) {
    const ActivationRows shared(weight.activation_form(), source.rows(), input_.data());
    for (std::int64_t r = begin; r < end; ++r) source.store_row(kernels_, r, shared, r, workers_.normed_row(worker));
  });
  return {source, &weight, new_contents(), false};
}

ActivationRows Products::open_input(const SharedInput& input, int worker) noexcept {
  const ActivationForm form = input.weight->activation_form();
  std::byte* memory = input.own ? workers_.of(worker) + WorkerMemory::row_bytes(form.k) : input_.data();
  const ActivationRows rows = ActivationRows(form, input.source.rows(), memory).with_contents(input.contents);
  std::uint64_t& prepared = prepared_[static_cast<std::size_t>(worker)].contents;
  if (input.own && prepared != input.contents) {
    input.source.store(kernels_, 0, input.source.rows(), rows, workers_.normed_row(worker));
    prepared = input.contents;
  }
  return rows;
}

void Products::multiply_columns(StepProgram& program, const RowSource& source, const PackedLinear& weight,
                                const ProductOutput& output) {
  const SharedInput input = share_input(program, source, weight);
  program.add_split(weight.panels(), kGrain, [this, input, output](std::int64_t begin, std::int64_t end, int worker) {
    const ActivationRows x = open_input(input, worker);
    const TensorView& out = output.rows;
    float* to = out.row(0) + input.weight->column(begin);
    input.weight->multiply(begin, end, {x, output.bias, output.accumulate, to, out.row_stride()});
  });
}

void Products::multiply_rows(const RowSource& source, const PackedLinear& weight, const ProductOutput& output,
                             std::int64_t first, std::int64_t rows, int worker) const noexcept {
  const ActivationRows x(weight.activation_form(), rows, workers_.of(worker) + WorkerMemory::row_bytes(weight.k()));
  source.store(kernels_, first, rows, x, workers_.normed_row(worker));
  const TensorView& out = output.rows;
  weight.multiply(0, weight.panels(), {x, output.bias, output.accumulate, out.row(first), out.row_stride()});
}

void Products::reserve_block(const PackedLinear& weight, std::int64_t rows) {
  workers_.reserve(WorkerMemory::row_bytes(weight.k()) +
                   ActivationRows(weight.activation_form(), rows, nullptr).bytes());
}

}  // namespace millrace::backend::cpu
