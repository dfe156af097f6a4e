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

// Output of a product: out = x W^T (+ bias) (+ out).
struct ProductOutput {
  const float* bias;  // [n] or null
  bool accumulate;
  TensorView rows;  // [rows of x, n]
};

// Products of a step's rows with a packed weight: either all workers share the columns, or each takes blocks of rows
// through all columns. Functions that take a StepProgram record on the stream's thread; those that take a worker's
// number run on that worker.
class Products {
 public:
  // The rows of a product whose columns the workers share.
  struct SharedInput {
    RowSource source;
    const PackedLinear* weight;
    std::uint64_t contents;  // of the prepared rows
    bool own;                // each worker prepares the rows for itself, the first time; else they are prepared once
  };

  Products(const KernelSet& kernels, WorkerMemory& workers, int n_workers)
      : kernels_(kernels), workers_(workers), prepared_(static_cast<std::size_t>(n_workers)) {}

  // Records the preparation of the rows, unless there are so few that each worker prepares them for itself.
  SharedInput share_input(StepProgram& program, const RowSource& source, const PackedLinear& weight);
  // The prepared rows. If each worker prepares them for itself, this call does so the first time.
  ActivationRows open_input(const SharedInput& input, int worker) noexcept;
  // Records a product whose columns the workers share.
  void multiply_columns(StepProgram& program, const RowSource& source, const PackedLinear& weight,
                        const ProductOutput& output);

  // Computes the product of the rows [first, first + rows) in the worker's memory. reserve_block() must be called
  // before.
  void multiply_rows(const RowSource& source, const PackedLinear& weight, const ProductOutput& output,
                     std::int64_t first, std::int64_t rows, int worker) const noexcept;
  void reserve_block(const PackedLinear& weight, std::int64_t rows);

 private:
  struct alignas(64) Prepared {
    std::uint64_t contents = 0;  // of the SharedInput that a worker's memory holds
  };

  const KernelSet& kernels_;
  WorkerMemory& workers_;
  Scratch input_;  // shared by the workers during a product
  std::vector<Prepared> prepared_;
};

}  // namespace millrace::backend::cpu
