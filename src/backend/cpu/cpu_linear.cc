// Products of a weight with the rows of a step.

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/packed_linear.h"
#include "backend/cpu/row_blocks.h"
#include "base/check.h"

namespace millrace::backend::cpu {
namespace {

// Up to so many rows each worker prepares all of them for itself: cheaper than waiting for each other.
constexpr std::int64_t kOwnRows = 2;
constexpr std::int64_t kGrain = 2;  // panels

}  // namespace

void CpuBackend::reserve_workers(std::size_t bytes) {
  for (Scratch& scratch : worker_scratch_) scratch.reserve(bytes);
}

std::size_t CpuBackend::row_bytes(std::int64_t columns) noexcept {
  return static_cast<std::size_t>((columns + 15) / 16 * 16) * sizeof(float);
}

CpuBackend::SharedInput CpuBackend::share_input(const RowSource& source, const PackedLinear& weight) {
  const std::int64_t rows = source.rows();
  const std::size_t bytes = ActivationRows(weight, rows, nullptr).bytes(), row = row_bytes(weight.k());
  const bool own = rows <= kOwnRows;
  reserve_workers(row + (own ? bytes : 0));
  if (own) return {source, &weight, ++inputs_};
  input_.reserve(bytes);
  program_->add_split(rows, 1, [this, source, &weight](std::int64_t begin, std::int64_t end, int worker) {
    const ActivationRows shared(weight, source.rows(), input_.data());
    for (std::int64_t r = begin; r < end; ++r) source.store_row(kernels_, r, shared, r, normed_row(worker));
  });
  return {source, &weight, 0};
}

ActivationRows CpuBackend::open_input(const SharedInput& input, int worker) noexcept {
  if (input.own == 0) return {*input.weight, input.source.rows(), input_.data()};
  std::byte* memory = memory_of(worker) + row_bytes(input.weight->k());
  const ActivationRows own(*input.weight, input.source.rows(), memory);
  std::uint64_t& prepared = prepared_[static_cast<std::size_t>(worker)].input;
  if (prepared != input.own) input.source.store(kernels_, 0, input.source.rows(), own, normed_row(worker));
  prepared = input.own;
  return own;
}

void CpuBackend::multiply_rows(const RowSource& source, const PackedLinear& weight, const float* bias, bool accumulate,
                               TensorView out, std::int64_t first, std::int64_t rows, int worker) const noexcept {
  std::byte* memory = memory_of(worker) + row_bytes(weight.k());
  const ActivationRows x(weight, rows, memory);
  source.store(kernels_, first, rows, x, normed_row(worker));
  weight.multiply(0, weight.panels(), {x, bias, accumulate, out.row(first), out.row_stride()});
}

void CpuBackend::multiply_columns(const RowSource& source, const PackedLinear& weight, const float* bias,
                                  bool accumulate, TensorView out) {
  const SharedInput input = share_input(source, weight);
  program_->add_split(weight.panels(), kGrain,
                      [this, input, bias, accumulate, out](std::int64_t begin, std::int64_t end, int worker) {
                        const ActivationRows x = open_input(input, worker);
                        float* to = out.row(0) + input.weight->column(begin);
                        input.weight->multiply(begin, end, {x, bias, accumulate, to, out.row_stride()});
                      });
}

void CpuBackend::reserve_blocks(const PackedLinear& weight, std::int64_t block) {
  reserve_workers(row_bytes(weight.k()) + ActivationRows(weight, block, nullptr).bytes());
}

void CpuBackend::linear(const Linear& linear, const LinearOptions& options, DeviceView from, DeviceView to) {
  const TensorView x = on_host(from), out = on_host(to);
  const auto& weight = static_cast<const PackedLinear&>(linear);
  const RowSource source(x, on_host(options.norm), options.rows);
  const std::int64_t rows = source.rows();
  DCHECK(x.cols() == weight.k() && out.cols() == weight.n() && rows == out.rows());
  if (rows == 0) return;
  const float* bias = pointer(options.bias);
  const bool accumulate = options.accumulate;
  const std::int64_t block = row_block(rows, threads());
  if (block == 0) return multiply_columns(source, weight, bias, accumulate, out);
  reserve_blocks(weight, block);
  program_->add_tasks((rows + block - 1) / block, [=, this, &weight](std::int64_t i, int worker) {
    const std::int64_t first = i * block;
    multiply_rows(source, weight, bias, accumulate, out, first, std::min(block, rows - first), worker);
  });
}

}  // namespace millrace::backend::cpu
