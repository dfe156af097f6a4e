#pragma once

#include <cstdint>
#include <vector>

#include "backend/cpu/activation_rows.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/packed_linear.h"
#include "backend/cpu/row_source.h"
#include "backend/cpu/scratch.h"
#include "backend/cpu/step_program.h"
#include "backend/cpu/worker_memory.h"

namespace millrace::backend::cpu {

// Where a product goes: out = x W^T (+ bias) (+ out).
struct ProductOutput {
  const float* bias;  // [n] or null
  bool accumulate;
  TensorView rows;  // [rows of x, n]
};

// Products of the rows of a step with a packed weight: either all workers share the columns, or each takes blocks of
// rows through all of them. Recording is the stream's thread's; what has a worker's number is that worker's.
class Products {
 public:
  // The rows of a product whose columns the workers share.
  struct SharedInput {
    RowSource source;
    const PackedLinear* weight;
    std::uint64_t own;  // each worker prepares them for itself, once: the number to remember that by; 0 = shared
  };

  Products(const KernelSet& kernels, WorkerMemory& workers, int n_workers)
      : kernels_(kernels), workers_(workers), prepared_(static_cast<std::size_t>(n_workers)) {}

  // Records the preparation of the rows, unless there are so few that each worker does it for itself.
  SharedInput share_input(StepProgram& program, const RowSource& source, const PackedLinear& weight);
  // The prepared rows; prepared by this worker now, if it has its own and has not done so.
  ActivationRows open_input(const SharedInput& input, int worker) noexcept;
  // Records a product whose columns the workers share.
  void multiply_columns(StepProgram& program, const RowSource& source, const PackedLinear& weight,
                        const ProductOutput& output);

  // The product of rows [first, first + rows), in a worker's memory: reserve_block comes before.
  void multiply_rows(const RowSource& source, const PackedLinear& weight, const ProductOutput& output,
                     std::int64_t first, std::int64_t rows, int worker) const noexcept;
  void reserve_block(const PackedLinear& weight, std::int64_t rows);

 private:
  struct alignas(64) Prepared {
    std::uint64_t input = 0;  // the SharedInput::own that a worker's memory holds
  };

  const KernelSet& kernels_;
  WorkerMemory& workers_;
  Scratch input_;  // shared by the workers during a product
  std::vector<Prepared> prepared_;
  std::uint64_t inputs_ = 0;
};

}  // namespace millrace::backend::cpu
